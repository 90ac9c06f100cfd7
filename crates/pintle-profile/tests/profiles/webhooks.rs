//! Where webhooks may go (R10.5).

use pintle_profile::WebhookAllowlist;
use url::Url;

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
        let found = Url::parse(url).is_ok_and(|url| list.allows(&url));
        assert_eq!(found, allowed, "{url}");
    }
    assert!(
        !WebhookAllowlist::default().allows(&Url::parse("https://example.com").unwrap()),
        "an empty list covers nothing"
    );
    assert!(WebhookAllowlist::new(["https://example.com/?x"]).is_err());
    assert!(WebhookAllowlist::new(["example.com"]).is_err());
}
