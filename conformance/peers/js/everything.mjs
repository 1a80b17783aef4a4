// npm's reference server, over Streamable HTTP or standard input and output. It speaks earlier revisions only.
//
//   node everything.mjs
//   node everything.mjs --stdio
//
// Over HTTP it chooses and tells no port by itself, and outlives whoever started it. Here it listens on a free port
// of 127.0.0.1 at /mcp, prints `listening PORT`, and serves until its standard input closes.
import { Server } from 'node:net';

const PACKAGE = '@modelcontextprotocol/server-everything/dist';

if (process.argv[2] === '--stdio') {
    await import(`${PACKAGE}/transports/stdio.js`);
} else {
    console.log = console.error;
    const listen = Server.prototype.listen;
    Server.prototype.listen = function (_port, then) {
        return listen.call(this, 0, '127.0.0.1', () => {
            process.stdout.write(`listening ${this.address().port}\n`);
            then?.();
        });
    };
    process.stdin.resume().on('end', () => process.exit(0));
    await import(`${PACKAGE}/transports/streamableHttp.js`);
}
