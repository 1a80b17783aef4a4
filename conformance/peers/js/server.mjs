// A revision 2026-07-28 server on the TypeScript SDK, over Streamable HTTP or standard input and output.
//
//   node server.mjs [PORT]
//   node server.mjs --stdio
//
// Listens on 127.0.0.1 (a free port unless one is given) at /mcp and prints `listening PORT`.
// Serves until its standard input closes, so it cannot outlive the process that started it.
// Tools: ../README.md.
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

import { localhostHostValidation, localhostOriginValidation, toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, fromJsonSchema, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

const stdio = process.argv[2] === '--stdio';
const say = line => (stdio ? process.stderr : process.stdout).write(`${line}\n`);
const text = text => ({ content: [{ type: 'text', text }] });

// One required property, the way all peers spell it.
const takes = (name, type) =>
    fromJsonSchema({ type: 'object', properties: { [name]: { type } }, required: [name] });

function build() {
    const server = new McpServer({ name: 'typescript-peer', version: '2.4.0' });
    server.registerTool('echo', { description: 'Says it back.', inputSchema: takes('text', 'string') },
        async args => text(args.text));
    server.registerTool('fail', { description: 'Always fails.' },
        async () => ({ ...text('failed on purpose'), isError: true }));
    server.registerTool('progress', { description: 'Reports each step.', inputSchema: takes('steps', 'integer') },
        async ({ steps }, { mcpReq }) => {
            const progressToken = mcpReq._meta?.progressToken;
            for (let progress = 1; progress <= steps && progressToken !== undefined; progress++) {
                await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: steps } });
            }
            return text('done');
        });
    server.registerTool('slow', { description: 'Waits.', inputSchema: takes('ms', 'integer') },
        async ({ ms }, { mcpReq }) => {
            await sleep(ms, undefined, { signal: mcpReq.signal }).catch(reason => {
                say('cancelled');
                throw reason;
            });
            return text('slept');
        });
    return server;
}

function serveHttp() {
    const handle = toNodeHandler(createMcpHandler(build, { legacy: 'reject' }));
    const hostIsLocal = localhostHostValidation();
    const originIsLocal = localhostOriginValidation();

    const http = createServer((request, response) => {
        if (!hostIsLocal(request, response) || !originIsLocal(request, response)) return;
        if (request.url !== '/mcp') return void response.writeHead(404).end();
        handle(request, response);
    });
    http.listen(Number(process.argv[2] ?? 0), '127.0.0.1', () => say(`listening ${http.address().port}`));
    process.stdin.resume().on('end', () => process.exit(0));
}

if (stdio) serveStdio(build, { legacy: 'reject' });
else serveHttp();
