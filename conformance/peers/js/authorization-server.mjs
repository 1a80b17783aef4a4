// An authorization server on oidc-provider, whose one user signs in and consents without being asked.
//
//   node authorization-server.mjs [OPTION]... [PORT]
//
// Listens on 127.0.0.1 (a free port unless one is given), prints `listening PORT`, and serves until its standard
// input closes. The options, and what is below /test: ../README.md.
import { generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { parseArgs } from 'node:util';

// It has notices on what to configure in production, to standard output even, and warns of what is done on purpose here.
console.info = console.warn = () => {};
const { errors, Provider } = await import('oidc-provider');
const { default: MemoryAdapter } = await import('oidc-provider/lib/adapters/memory_adapter.js');

const string = value => ({ type: 'string', default: value });
const boolean = { type: 'boolean', default: false };
const { values: options, positionals: [port = 0] } = parseArgs({
    allowPositionals: true,
    options: {
        alg: string('ES256'),
        'auth-methods': string('none client_secret_basic client_secret_post private_key_jwt'),
        clients: string('[]'),
        consent: string('allow'),
        'dpop-nonce': boolean,
        fetch: { type: 'string', multiple: true, default: [] },
        format: string('jwt'),
        grant: { type: 'string' },
        metadata: string('oauth openid appended'),
        'no-cimd': boolean,
        'no-registration': boolean,
        path: string(''),
        refresh: string('offline'),
        resource: { type: 'string', multiple: true, default: [] },
        'strict-registration': boolean,
        scopes: string('mcp files:read files:write'),
        ttl: string('3600'),
    },
});
const words = text => text.split(' ').filter(Boolean);

const RESOURCE_SERVER = {
    client_id: 'resource-server', client_secret: 'resource-server-secret', grant_types: [], redirect_uris: [], response_types: [],
};
const OIDC_SCOPES = ['openid', ...(options.refresh === 'never' ? [] : ['offline_access'])];

const cookieKey = randomUUID();
const nonceSecret = randomBytes(32);
const store = new Map();
const log = [];
let issuer;
let keys = newKeys();
let provider;

function newKeys() {
    const key = (alg, type, how) =>
        ({ ...generateKeyPairSync(type, how).privateKey.export({ format: 'jwk' }), alg, use: 'sig', kid: randomUUID() });
    return [key('ES256', 'ec', { namedCurve: 'P-256' }), key('RS256', 'rsa', { modulusLength: 2048 })];
}

// The keys of a provider cannot be changed; all else that it remembers is in the store.
function newProvider() {
    provider = new Provider(issuer, {
        adapter: model => new MemoryAdapter(model, store),
        clientAuthMethods: words(options['auth-methods']),
        clients: [...JSON.parse(options.clients), RESOURCE_SERVER],
        // What has expired shall be refused at once.
        clockTolerance: 0,
        cookies: { keys: [cookieKey] },
        features: {
            clientCredentials: { enabled: true },
            clientIdMetadataDocument: { enabled: !options['no-cimd'], ack: 'draft-02' },
            devInteractions: { enabled: false },
            dPoP: { enabled: true, nonceSecret, requireNonce: () => Boolean(options['dpop-nonce']) },
            introspection: { enabled: true },
            registration: { enabled: !options['no-registration'] },
            resourceIndicators: { enabled: true, getResourceServerInfo: resourceServer },
            revocation: { enabled: true },
        },
        fetch: fetchElsewhere,
        findAccount: (_, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
        interactions: { url: (_, { uid }) => `${options.path}/interaction/${uid}` },
        issueRefreshToken: (_, client, { scopes }) => client.grantTypeAllowed('refresh_token') && options.refresh !== 'never'
            && (options.refresh === 'always' || scopes.has('offline_access')),
        jwks: { keys },
        pkce: { required: () => true },
        renderError: (ctx, out) => void (ctx.body = out),
        responseTypes: ['code'],
        rotateRefreshToken: true,
        scopes: OIDC_SCOPES,
        ttl: { AccessToken: ttl, ClientCredentials: ttl, Grant: 86_400, IdToken: ttl, Interaction: 600, RefreshToken: 86_400, Session: 86_400 },
    });
    provider.use(record);
    for (const event of ['authorization.error', 'grant.error', 'introspection.error', 'registration_create.error', 'revocation.error', 'server_error']) {
        provider.on(event, (ctx, error) => {
            ctx.state.detail = error.error_detail ?? error.cause?.message ?? error.message;
        });
    }
}

const ttl = () => Number(options.ttl);

function resourceServer(_, resource) {
    const { hostname } = new URL(resource);
    const known = options.resource.length ? options.resource.includes(resource) : ['127.0.0.1', 'localhost', '[::1]'].includes(hostname);
    if (!known) throw new errors.InvalidTarget();
    return {
        scope: options.scopes,
        audience: resource,
        accessTokenFormat: options.format,
        jwt: { sign: { alg: options.alg } },
    };
}

// The documents of clients have to be at https; for tests they may come from a server without a certificate. What
// the provider passes along would refuse every address of this machine.
function fetchElsewhere(url, { dispatcher, ...init }) {
    for (const [from, to] of options.fetch.map(pair => pair.split('='))) {
        if (String(url).startsWith(from)) return fetch(to + String(url).slice(from.length), init);
    }
    return fetch(url, { ...init, dispatcher });
}

// As the provider has them of a form: what comes more than once is a list.
const all = params => Object.fromEntries([...params.keys()].map(key => {
    const values = params.getAll(key);
    return [key, values.length > 1 ? values : values[0]];
}));

async function record(ctx, next) {
    await next();
    const location = ctx.response.get('location');
    const back = location ? all(new URL(location, issuer).searchParams) : {};
    const asked = new URL(ctx.req.asked, issuer);
    log.push({
        endpoint: ctx._matchedRouteName ?? 'nothing',
        path: asked.pathname,
        params: ctx.method === 'GET' ? all(asked.searchParams) : (ctx.req.registered ?? ctx.oidc?.body ?? {}),
        scheme: ctx.get('authorization').split(' ')[0] || undefined,
        dpop: Boolean(ctx.get('dpop')),
        client: ctx.oidc?.client?.clientId,
        status: ctx.status,
        error: ctx.body?.error ?? back.error,
        description: ctx.body?.error_description ?? back.error_description,
        detail: ctx.state.detail,
    });
}

// Stands in for the pages on which the user would sign in and consent.
async function interact(request, response) {
    const { prompt, params, session } = await provider.interactionDetails(request, response);
    let result;
    if (options.consent === 'deny') result = { error: 'access_denied', error_description: 'the user has said no' };
    else if (prompt.name === 'login') result = { login: { accountId: 'user' } };
    else result = { consent: { grantId: await consent(params, session) } };
    await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
}

// A scope that is neither granted nor rejected would be asked for again without end.
async function consent({ client_id: clientId, resource = [], scope = '' }, { accountId }) {
    const grant = new provider.Grant({ clientId, accountId });
    for (const word of words(scope)) {
        if (OIDC_SCOPES.includes(word)) {
            grant.addOIDCScope(word);
            continue;
        }
        const may = options.grant == null || words(options.grant).includes(word);
        for (const indicator of [resource].flat()) grant[may ? 'addResourceScope' : 'rejectResourceScope'](indicator, word);
    }
    return grant.save();
}

function forget(keep) {
    for (const key of store.keys()) if (!keep(key)) store.delete(key);
}

const tests = {
    'GET /test/log': () => log,
    // Keys that are no longer signed with are still published, unless they are dropped.
    'POST /test/rotate': ({ searchParams }) => {
        keys = [...newKeys(), ...(searchParams.has('drop') ? [] : keys)];
        newProvider();
        return keys.map(({ kid, alg }) => ({ kid, alg }));
    },
    'POST /test/revoke': () => forget(key => key.startsWith('Client:')),
    'POST /test/forget-clients': () => forget(key => !key.startsWith('Client:')),
    'POST /test/options': async (_, request) => Object.assign(options, await json(request)),
};

// The path on which the provider has what stands at this one, and a path of nothing where there is nothing.
function route(path) {
    const forms = words(options.metadata);
    const [, name, tail] = /^\/\.well-known\/(oauth-authorization-server|openid-configuration)(.*)$/.exec(path) ?? [];
    if (name) return tail === options.path && forms.includes(name.split('-')[0]) ? `/.well-known/${name}` : '/';
    if (!path.startsWith(`${options.path}/`)) return '/';
    const rest = path.slice(options.path.length);
    const appended = forms.includes('appended') && rest === '/.well-known/openid-configuration';
    return rest.startsWith('/.well-known/') && !appended ? '/' : rest;
}

async function serve(request, response) {
    const url = new URL(request.url, issuer);
    const test = tests[`${request.method} ${url.pathname}`];
    if (test) return void response.setHeader('content-type', 'application/json').end(JSON.stringify(await test(url, request)) ?? 'null');
    const path = route(url.pathname);
    if (path.startsWith('/interaction/')) return interact(request, response);
    // Who asks for no scope is offered all of them, where the provider would refuse.
    if (path === '/auth' && !url.searchParams.has('scope')) url.searchParams.set('scope', options.scopes);
    request.asked = request.url;
    request.url = path + url.search;
    request.baseUrl = options.path;
    if (path === '/reg' && request.method === 'POST' && !options['strict-registration']) await withoutScope(request);
    return provider.callback()(request, response);
}

// The provider would refuse scopes of resources, which clients like to register, and hold a client to what it has registered.
async function withoutScope(request) {
    request.registered = await json(request);
    request.body = { ...request.registered, scope: undefined };
}

const http = createServer((request, response) => {
    serve(request, response).catch(error => response.writeHead(error.statusCode ?? 500).end(`${error.name}: ${error.message}\n`));
});
http.listen(Number(port), '127.0.0.1', () => {
    issuer = `http://127.0.0.1:${http.address().port}${options.path}`;
    newProvider();
    process.stdout.write(`listening ${http.address().port}\n`);
});
process.stdin.resume().on('end', () => process.exit(0));
