// A revision 2026-07-28 server on the TypeScript SDK that wants an access token of an authorization server.
//
//   node protected-server.mjs [--introspect ID:SECRET] [--scopes SCOPES] ISSUER [PORT]
//
// Listens on 127.0.0.1 (a free port unless one is given) at /mcp and prints `listening PORT`, once it has the metadata
// of ISSUER. Serves until its standard input closes. What it offers: ../README.md.
import { createServer } from 'node:http';
import { parseArgs } from 'node:util';

import { toNodeHandler } from '@modelcontextprotocol/node';
import {
    createMcpHandler, getOAuthProtectedResourceMetadataUrl, McpServer, oauthMetadataResponse, OAuthError, OAuthErrorCode, requireBearerAuth,
    requireScopes,
} from '@modelcontextprotocol/server';
import { createRemoteJWKSet, jwtVerify } from 'jose';

const { values: { introspect, scopes }, positionals: [issuer, port = 0] } = parseArgs({
    allowPositionals: true,
    options: { introspect: { type: 'string' }, scopes: { type: 'string', default: 'mcp' } },
});
const requiredScopes = scopes.split(' ').filter(Boolean);
const { origin, pathname } = new URL(issuer);
const found = await fetch(`${origin}/.well-known/oauth-authorization-server${pathname === '/' ? '' : pathname}`);
const oauthMetadata = await found.json();

function build() {
    const server = new McpServer({ name: 'typescript-protected', version: '2.4.0' });
    const text = text => ({ content: [{ type: 'text', text }] });
    server.registerTool('whoami', { description: 'Says who calls.' }, async ({ http: { authInfo } }) => (
        text(`${authInfo.extra.sub} by ${authInfo.clientId}: ${authInfo.scopes.join(' ')}`)));
    server.registerTool('write', { description: 'Needs files:write.', scopeChallenge: requireScopes('files:write') },
        async () => text('written'));
    return server;
}

// What the SDK leaves to others: to tell whether a token is good. It compares `resource` itself.
const keys = createRemoteJWKSet(new URL(oauthMetadata.jwks_uri));
const claimsOf = {
    jwt: token => jwtVerify(token, keys, { issuer, typ: 'at+jwt' }).then(({ payload }) => payload, () => undefined),
    async opaque(token) {
        const headers = { authorization: `Basic ${btoa(introspect)}` };
        const answer = await fetch(oauthMetadata.introspection_endpoint, { method: 'POST', headers, body: new URLSearchParams({ token }) });
        const claims = await answer.json();
        return claims.active ? claims : undefined;
    },
}[introspect ? 'opaque' : 'jwt'];

async function verifyAccessToken(token) {
    const claims = await claimsOf(token);
    // This server would have to check the proof of possession as well.
    if (claims === undefined || claims.cnf) throw new OAuthError(OAuthErrorCode.InvalidToken, 'the token is not good');
    const { client_id: clientId, scope = '', exp: expiresAt, aud, sub } = claims;
    return { token, clientId, scopes: scope.split(' ').filter(Boolean), expiresAt, resource: new URL(aud), extra: { sub } };
}

function serve(resource) {
    const gate = requireBearerAuth({
        verifier: { verifyAccessToken },
        expectedResource: resource,
        requiredScopes,
        resourceMetadataUrl: getOAuthProtectedResourceMetadataUrl(resource),
    });
    const metadata = { oauthMetadata, resourceServerUrl: resource, scopesSupported: requiredScopes };
    const handler = createMcpHandler(build, { legacy: 'reject' });
    return async request => {
        const document = oauthMetadataResponse(request, metadata);
        if (document) return document;
        if (new URL(request.url).pathname !== '/mcp') return new Response(null, { status: 404 });
        const authInfo = await gate(request);
        return authInfo instanceof Response ? authInfo : handler.fetch(request, { authInfo });
    };
}

const http = createServer();
http.listen(Number(port), '127.0.0.1', () => {
    const resource = new URL(`http://127.0.0.1:${http.address().port}/mcp`);
    http.on('request', toNodeHandler({ fetch: serve(resource) }));
    process.stdout.write(`listening ${http.address().port}\n`);
});
process.stdin.resume().on('end', () => process.exit(0));
