// A client on the TypeScript SDK that signs in wherever a server asks for it, over Streamable HTTP.
//
//   node signing-in-client.mjs [OPTION]... URL
//
// Goes through the steps of ../README.md and prints what it saw as one JSON object, as client.mjs does. There is no
// browser and no page: it follows the redirects of the authorization server by itself.
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import { Client, ClientCredentialsProvider, DpopSession, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client';

const VERSION = '2026-07-28';
// Nobody listens there.
const REDIRECT = 'http://127.0.0.1:33418/callback';

setTimeout(() => {
    console.error('signing-in-client.mjs: gave up after 25 s');
    process.exit(2);
}, 25_000).unref();

const { values: options, positionals: [url] } = parseArgs({
    allowPositionals: true,
    options: {
        again: { type: 'string' },
        client: { type: 'string' },
        document: { type: 'string' },
        dpop: { type: 'boolean', default: false },
        issuer: { type: 'string' },
        machine: { type: 'string' },
        tool: { type: 'string', multiple: true, default: ['whoami', 'write'] },
    },
});
const [clientId, clientSecret] = (options.client ?? options.machine ?? '').split(':');

const cookies = new Map();

// Follows redirects until one leads back to the client. Cookies are told apart by their names alone.
async function browse(url) {
    for (let hops = 0; hops < 20; hops++) {
        if (String(url).startsWith(REDIRECT)) return new URL(url).searchParams;
        const cookie = [...cookies].map(pair => pair.join('=')).join('; ');
        const page = await fetch(url, { redirect: 'manual', headers: { cookie, accept: 'text/html' } });
        for (const line of page.headers.getSetCookie()) {
            const [name, value] = line.split(';')[0].split('=');
            value ? cookies.set(name, value) : cookies.delete(name);
        }
        if (!page.headers.has('location')) throw new Error(`the browser is left with ${page.status} ${await page.text()}`);
        url = new URL(page.headers.get('location'), url);
    }
    throw new Error('the browser is sent around without end');
}

// Keeps all in memory. Where the SDK wants the user, the browser runs at once, and what it brings back is kept.
class User {
    authorizations = [];
    redirectUrl = REDIRECT;
    clientMetadataUrl = options.document;
    clientMetadata = {
        client_name: 'typescript-peer',
        redirect_uris: [REDIRECT],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
    };
    information = clientId ? { client_id: clientId, client_secret: clientSecret, issuer: options.issuer } : undefined;
    dpop = options.dpop ? () => (this.session ??= DpopSession.create()) : undefined;

    state = () => (this.expected = crypto.randomUUID());
    clientInformation = () => this.information;
    saveClientInformation = information => void (this.information = information);
    tokens = () => this.saved;
    saveTokens = tokens => void (this.saved = tokens);
    saveCodeVerifier = verifier => void (this.verifier = verifier);
    codeVerifier = () => this.verifier;
    discoveryState = () => this.discovered;
    saveDiscoveryState = discovered => void (this.discovered = discovered);
    // Without it the SDK would not register again, nor ask the user again, when it is refused.
    invalidateCredentials = what => {
        if (what === 'all' || what === 'client') this.information = undefined;
        if (what === 'all' || what === 'tokens') this.saved = undefined;
        if (what === 'all' || what === 'discovery') this.discovered = undefined;
    };

    async redirectToAuthorization(url) {
        const { scope, resource, prompt } = Object.fromEntries(url.searchParams);
        this.authorizations.push({ scope, resource, prompt });
        this.brought = await browse(url);
        if (this.brought.get('state') !== this.expected) throw new Error('the state is not what was sent');
    }
}

const user = options.machine ? new ClientCredentialsProvider({ clientId, clientSecret, expectedIssuer: options.issuer }) : new User();
const client = new Client({ name: 'typescript-peer', version: '2.4.0' }, { versionNegotiation: { mode: { pin: VERSION } } });
let transport;

// The SDK gives up what it was at when it wants the user: that is done once more with the token it gets.
async function signingIn(work) {
    try {
        return await work();
    } catch (error) {
        if (!(error instanceof UnauthorizedError) || !user.brought) throw error;
        const brought = user.brought;
        user.brought = undefined;
        if (brought.has('error')) throw new Error(`${brought.get('error')}: ${brought.get('error_description')}`);
        await transport.finishAuth(brought);
        return work();
    }
}

async function connect() {
    transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: user });
    await client.connect(transport);
    return true;
}

const refused = error => ({ failed: `${error.name} ${error.code ?? ''}: ${error.message}` });
const attempt = name => signingIn(() => client.callTool({ name, arguments: {} }, { timeout: 10_000 })).then(
    result => ({ isError: result.isError ?? false, text: result.content.map(block => block.text).join() }), refused);

const report = { client: 'typescript', connected: await signingIn(connect).catch(refused) };
if (report.connected === true) {
    report.list = (await client.listTools()).tools.map(tool => tool.name);
    report.calls = {};
    for (const name of options.tool) report.calls[name] = await attempt(name);
    if (options.again) {
        await sleep(Number(options.again) * 1000);
        report.again = await attempt(options.tool[0]);
    }
    await client.close();
}
const { token_type: tokenType, scope, refresh_token: refresh } = user.tokens() ?? {};
console.log(JSON.stringify({ ...report, authorizations: user.authorizations ?? [], token: { tokenType, scope, refresh: Boolean(refresh) } }));
process.exit(0);
