// A real identity provider for tests: node identity_provider.mjs PORT KEY_FILE
// Keys are made if the file is not there. The resource that is asked for chooses what a token is like.
import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { Provider } from 'oidc-provider';

const [port, keyFile] = process.argv.slice(2);
if (!existsSync(keyFile)) {
  const made = [
    ['rsa', 'RS256', generateKeyPairSync('rsa', { modulusLength: 2048 })],
    ['ec', 'ES256', generateKeyPairSync('ec', { namedCurve: 'P-256' })],
    ['ed', 'EdDSA', generateKeyPairSync('ed25519')],
  ];
  const keys = made.map(([name, alg, pair]) => ({
    ...createPrivateKey(pair.privateKey.export({ type: 'pkcs8', format: 'pem' })).export({ format: 'jwk' }),
    kid: `${name}-${Date.now()}`, use: 'sig', alg,
  }));
  writeFileSync(keyFile, JSON.stringify({ keys }));
}

const like = (audience, alg = 'RS256', ttl = 600) => ({
  scope: 'catalog', audience, accessTokenFormat: 'jwt', accessTokenTTL: ttl, jwt: { sign: { alg } },
});
const resources = {
  'urn:headgate': like('headgate'),
  'urn:headgate:ec': like('headgate', 'ES256'),
  'urn:headgate:ed': like('headgate', 'EdDSA'),
  'urn:headgate:short': like('headgate', 'RS256', 1),
  'urn:other': like('other'),
};

new Provider(`http://127.0.0.1:${port}`, {
  jwks: JSON.parse(readFileSync(keyFile)),
  clients: [
    { client_id: 'engine', client_secret: 's3cr3t', grant_types: ['client_credentials'],
      redirect_uris: [], response_types: [], scope: 'catalog' },
    { client_id: 'console', token_endpoint_auth_method: 'none', application_type: 'native',
      redirect_uris: ['http://127.0.0.1/cb'], grant_types: ['authorization_code'], scope: 'openid catalog' },
  ],
  scopes: ['openid', 'catalog'],
  extraTokenClaims: (_context, token) => ({ groups: token.accountId ? ['people'] : ['engines', 'staff'] }),
  features: {
    clientCredentials: { enabled: true },
    devInteractions: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => 'urn:headgate',
      useGrantedResource: () => true,
      getResourceServerInfo: (_context, resource) => resources[resource],
    },
  },
  findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
}).listen(Number(port), '127.0.0.1', () => console.log('identity provider ready'));
