// An OpenID provider for tests: oidc-provider with the clients of the suite, on a loopback port.
// IDP_PORT: its port. CONTROLPLANE_URL: where its logout tokens go.
// Tests change it through /test/…, which no real provider has.
import { createServer } from "node:http";
import { generateKeyPairSync } from "node:crypto";
import Provider from "oidc-provider";

console.log("modules are loaded");
const port = Number(process.env.IDP_PORT);
const issuer = `http://127.0.0.1:${port}`;
const controlplane = process.env.CONTROLPLANE_URL ?? "http://testserver";
const accounts = new Map();
const requests = [];

const key = (kid, alg, [type, options]) => ({
  ...generateKeyPairSync(type, options).privateKey.export({ format: "jwk" }), kid, alg, use: "sig",
});
const jwks = {
  keys: [
    key("rsa-1", "RS256", ["rsa", { modulusLength: 2048 }]),
    key("ec-1", "ES256", ["ec", { namedCurve: "P-256" }]),
    key("ed-1", "EdDSA", ["ed25519", {}]),
  ],
};

console.log("keys are generated");

// An account has the claims that a test gave it; any other name is a person without groups.
const claimsOf = (name) => ({
  email: `${name}@example.com`, email_verified: true, name, preferred_username: name, groups: [], ...accounts.get(name),
});
const findAccount = (ctx, name) => ({
  accountId: name,
  claims: (use) => {
    const { userinfo_only: rest = {}, ...claims } = claimsOf(name);
    return { sub: name, ...claims, ...(use === "userinfo" ? rest : {}) };
  },
});

const web = (id, options = {}) => ({
  client_id: id, client_secret: `${id}-secret-for-tests`, grant_types: ["authorization_code", "refresh_token"],
  redirect_uris: [`${controlplane}/callback`], post_logout_redirect_uris: [`${controlplane}/logout`],
  backchannel_logout_uri: `${controlplane}/oidc/backchannel-logout`, backchannel_logout_session_required: true,
  ...options,
});
const cli = (id) => ({
  client_id: id, token_endpoint_auth_method: "none", application_type: "native",
  grant_types: ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"],
  redirect_uris: ["http://localhost:53593/callback", "http://localhost:12345/callback"],
});
const machine = (id) => ({
  client_id: id, client_secret: `${id}-secret-for-tests`, grant_types: ["client_credentials"],
  redirect_uris: [], response_types: [],
});

// Access tokens of every client but the console's are JWTs (RFC 9068) for this audience.
const audience = (process.env.IDP_AUDIENCE ?? controlplane).replace(/\/$/, "");
const provider = new Provider(issuer, {
  jwks,
  clients: [
    web("controlplane"),
    web("controlplane-es256", { id_token_signed_response_alg: "ES256" }),
    cli("flytectl"), cli("flyte-cli"), cli("cpctl"),
    machine("flytepropeller"), machine("pipeline"),
  ],
  findAccount,
  scopes: ["openid", "offline_access", "offline", "all"],
  claims: {
    openid: ["sub"], profile: ["name", "preferred_username", "given_name", "family_name", "picture", "tid", "hd"],
    email: ["email", "email_verified"], groups: ["groups", "roles", "hasgroups", "_claim_names"],
    acr: null, amr: null, auth_time: null, sid: null, iss: null,
  },
  conformIdTokenClaims: false,
  extraTokenClaims: (ctx, token) => {
    if (!token.accountId) return {};
    const { email, groups, preferred_username } = claimsOf(token.accountId);
    return { email, groups, preferred_username };
  },
  pkce: { required: () => true },
  rotateRefreshToken: true,
  issueRefreshToken: async (ctx, client, code) => client.grantTypeAllowed("refresh_token") && client.clientId !== "controlplane",
  enabledJWA: { idTokenSigningAlgValues: ["RS256", "ES256", "EdDSA"] },
  cookies: { keys: ["only for tests"] },
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    deviceFlow: { enabled: true },
    introspection: { enabled: true },
    revocation: { enabled: true },
    backchannelLogout: { enabled: true },
    rpInitiatedLogout: {
      enabled: true,
      logoutSource: async (ctx, form) => {
        ctx.body = `<!doctype html><title>Log out</title>${form}<button form="op.logoutForm" name="logout" value="yes">Yes, log out</button>`;
      },
    },
    resourceIndicators: {
      enabled: true,
      defaultResource: (ctx, client) => (client.clientId.startsWith("controlplane") ? undefined : audience),
      useGrantedResource: () => true,
      getResourceServerInfo: (ctx, resource) => ({
        scope: "all offline openid", audience: resource, accessTokenFormat: "jwt", accessTokenTTL: 600,
        jwt: { sign: { alg: "RS256" } },
      }),
    },
  },
  // Ours is at a loopback address, which the provider would not call by itself.
  fetch: (url, { dispatcher, ...options }) => globalThis.fetch(url, options),
  interactions: { url: (ctx, interaction) => `/interaction/${interaction.uid}` },
  // Everybody who logged in consents.
  loadExistingGrant: async (ctx) => {
    const { client, session, params } = ctx.oidc;
    const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId });
    grant.addOIDCScope(`${params.scope ?? "openid"} openid offline_access`);
    grant.addResourceScope(audience, "all offline openid");
    await grant.save();
    return grant;
  },
  ttl: { AccessToken: 600, AuthorizationCode: 60, IdToken: 600, Session: 3600, Interaction: 600, Grant: 3600, DeviceCode: 600 },
});

const bodyOf = async (request) => {
  let text = "";
  for await (const chunk of request) text += chunk;
  return text;
};
const send = (response, status, body, type = "application/json") => {
  response.writeHead(status, { "content-type": type });
  response.end(type === "application/json" ? JSON.stringify(body) : body);
};

const loginForm = (uid) => `<!doctype html><html lang="en"><title>Log in at the provider</title><h1>Log in at the provider</h1>
<form method="post" action="/interaction/${uid}"><label>Account <input name="account" required></label><button>Continue</button></form>`;

async function interact(request, response, uid) {
  if (request.method === "GET") return send(response, 200, loginForm(uid), "text/html");
  const account = new URLSearchParams(await bodyOf(request)).get("account");
  if (account === "denied") {
    return provider.interactionFinished(request, response, { error: "access_denied", error_description: "The person declined." });
  }
  const { acr, amr } = claimsOf(account);
  // Native clients, such as command lines, must be consented to each time.
  return provider.interactionFinished(request, response, { login: { accountId: account, acr, amr }, consent: {} });
}

// PUT /test/accounts/{name}: its claims. POST /test/backchannel-logout {client, sub, sid, uri}: send a logout
// token, to the client's own address unless `uri` is given.
// GET /test/requests: what was requested so far, as "METHOD path".
async function control(request, response, path) {
  const [, , subject, name] = path.split("/");
  const body = request.method === "GET" ? {} : JSON.parse((await bodyOf(request)) || "{}");
  if (subject === "accounts") {
    accounts.set(decodeURIComponent(name), body);
    return send(response, 200, {});
  }
  if (subject === "backchannel-logout") {
    const client = await provider.Client.find(body.client ?? "controlplane");
    if (body.uri) client.backchannelLogoutUri = body.uri;
    const result = await client.backchannelLogout(body.sub, body.sid).then(() => "delivered", (error) => error.message);
    return send(response, 200, { result });
  }
  if (subject === "requests") return send(response, 200, requests);
  return send(response, 404, {});
}

const callback = provider.callback();
createServer((request, response) => {
  const { pathname } = new URL(request.url, issuer);
  if (pathname.startsWith("/test/")) return control(request, response, pathname);
  requests.push(`${request.method} ${pathname}`);
  const uid = pathname.match(/^\/interaction\/([\w-]+)$/)?.[1];
  return uid ? interact(request, response, uid) : callback(request, response);
}).listen(port, "127.0.0.1", () => console.log(`ready at ${issuer}`));
