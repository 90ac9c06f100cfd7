// Makes a server listen on a free loopback port, whatever it asks for, and say which one it got.
import net from "node:net";

const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (_port, ready) {
  return listen.call(this, 0, "127.0.0.1", () => {
    console.error(`port=${this.address().port}`);
    ready?.();
  });
};
