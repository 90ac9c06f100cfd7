//! Where webhooks may go (R10.5).

use pintle_profile::{WebhookAllowlist, is_forbidden_address, webhook_url};

// R10.5
#[test]
fn the_allowlist_compares_origin_and_path_as_parsed() {
    let list = WebhookAllowlist::new([
        "https://hooks.example.com/in/",
        "https://api.example.com",
        "https://alt.example.com:8443/x",
        "https://[2001:db8::1]/v6",
    ])
    .unwrap();
    let rows = [
        ("https://hooks.example.com/in/a", true),
        ("https://hooks.example.com/in", true),
        ("https://hooks.example.com:443/in/a", true),
        ("https://HOOKS.EXAMPLE.COM/in/a", true),
        ("https://hooks.example.com./in/a", true),
        ("https://hooks.example.com/in/a?q=1", true),
        ("https://hooks.example.com/in/../in/a", true),
        ("https://hooks.example.com/inside", false),
        ("https://hooks.example.com/", false),
        ("https://hooks.example.com/in/../out", false),
        ("https://hooks.example.com/in/%2e%2e/out", false),
        ("https://hooks.example.com/in/..%2fout", false),
        ("https://hooks.example.com/in/%2E%2E%2Fout", false),
        ("https://hooks.example.com/in/..;/out", false),
        ("https://hooks.example.com/in/..;x=1/out", false),
        ("https://hooks.example.com:8443/in/a", false),
        ("https://hooks.example.com.evil.example/in/a", false),
        ("https://evil.example/hooks.example.com/in/a", false),
        ("https://hooks.example.com@evil.example/in/a", false),
        ("https://evil.example\\@hooks.example.com/in/a", false),
        ("https://user@hooks.example.com/in/a", false),
        ("https://evil.example#@hooks.example.com/in/a", false),
        ("https://hooksXexample.com/in/a", false),
        ("https://xhooks.example.com/in/a", false),
        ("https://hооks.example.com/in/a", false), // two Cyrillic letters
        ("http://hooks.example.com/in/a", false),
        ("https://api.example.com/anything/at/all", true),
        ("https://api.example.com", true),
        ("https://alt.example.com:8443/x/y", true),
        ("https://alt.example.com/x/y", false),
        ("https://[2001:db8::1]/v6/a", true),
        ("https://[2001:0db8:0:0::1]/v6/a", true),
        ("https://[2001:db8::2]/v6/a", false),
    ];
    for (url, allowed) in rows {
        let found = webhook_url(url).is_ok_and(|url| list.allows(&url));
        assert_eq!(found, allowed, "{url}");
    }
    assert!(
        !WebhookAllowlist::default().allows(&webhook_url("https://example.com").unwrap()),
        "an empty list covers nothing"
    );
    assert!(WebhookAllowlist::new(["https://example.com/?x"]).is_err());
    assert!(WebhookAllowlist::new(["example.com"]).is_err());
}

// R10.5
#[test]
fn only_https_or_this_machine_can_be_a_webhook() {
    let rows = [
        ("https://example.com/x", true),
        ("http://localhost:9000", true),
        ("http://127.0.0.1/x", true),
        ("http://127.9.9.9/x", true),
        ("http://[::1]:9000/x", true),
        ("http://2130706433/x", true), // 127.0.0.1 as one number
        ("http://0x7f000001/x", true), // and in hex
        ("http://[::ffff:127.0.0.1]/x", true),
        // Routed like any other address, whatever is in it.
        ("http://[2002:7f00:1::5]/x", false),
        ("http://[64:ff9b::7f00:1]/x", false),
        ("http://[64:ff9b:1::7f00:1]/x", false),
        ("http://[::127.0.0.5]/x", false),
        ("https://[2002:7f00:1::5]/x", false),
        ("http://example.com/x", false),
        ("http://localhost.example.com/x", false),
        ("http://127.0.0.1.example.com/x", false),
        ("http://10.0.0.1/x", false),
        ("ftp://example.com", false),
        ("file:///etc/passwd", false),
        ("https://169.254.169.254/", false),
        ("https://2852039166/", false), // 169.254.169.254 as one number
        ("https://0xa9fea9fe/", false),
        ("https://0251.0376.0251.0376/", false),
        ("https://[::ffff:169.254.169.254]/", false),
        ("https://[fe80::1]/", false),
        ("https://[fd00:ec2::254]/", false),
        ("https://[fd00:c1::a9fe:a9fe]/", false),
        ("https://metadata.google.internal/", false),
        ("https://METADATA.google.internal./", false),
        ("https://0.0.0.0/", false),
        ("http://0/", false),
        ("https://user:pass@example.com/", false),
        ("https://", false),
        ("//example.com", false),
        ("example.com", false),
    ];
    for (url, fine) in rows {
        assert_eq!(webhook_url(url).is_ok(), fine, "{url}: {:?}", webhook_url(url));
    }
}

// R10.5: asked again for each address DNS gives
#[test]
fn link_local_and_metadata_addresses_are_forbidden_in_every_dress() {
    let forbidden = [
        "169.254.169.254",
        "169.254.0.1",
        "0.0.0.0",
        "0.1.2.3",
        "255.255.255.255",
        "224.0.0.1",
        "100.100.100.200",
        "192.0.0.192",
        "fe80::1",
        "::",
        "ff02::1",
        "fd00:ec2::254",
        "fd20:ce::254",
        "fd00:ec2::23",
        "fd00:42::42",
        "2002:7f00:1::5",
        "64:ff9b::127.0.0.1",
        "::127.0.0.5",
        "::ffff:169.254.169.254",
        "::169.254.169.254",
        "64:ff9b::169.254.169.254",
        "64:ff9b:1::169.254.169.254",
        "168.63.129.16",
        "2002:a9fe:a9fe::1",
    ];
    for address in forbidden {
        assert!(is_forbidden_address(address.parse().unwrap()), "{address}");
    }
    for address in [
        "127.0.0.1",
        "::1",
        "10.0.0.1",
        "93.184.216.34",
        "2606:4700::1111",
        "::ffff:93.184.216.34",
        "::ffff:127.0.0.1",
        "192.168.1.1",
    ] {
        assert!(!is_forbidden_address(address.parse().unwrap()), "{address}");
    }
}
