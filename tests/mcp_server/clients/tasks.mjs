// Tasks of both eras, by the protocol's own package for them. Prints what it saw as JSON.
//
//   node tasks.mjs legacy|2026-07-28 NODE_MODULES COMMAND [ARGUMENT…]
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const [mode, modules, command, ...args] = process.argv.slice(2);
const load = createRequire(`${modules}/`);
const { Client } = load('@modelcontextprotocol/client');
const { StdioClientTransport } = load('@modelcontextprotocol/client/stdio');
const tasks = await import(`${modules}/@modelcontextprotocol/ext-tasks/dist/client/index.js`);

const info = { name: 'tasks', version: '1' };
const capabilities = { elicitation: { form: {} }, extensions: { 'io.modelcontextprotocol/tasks': {} } };

/** A connection of its own: the SDK refuses the messages of the extension. */
function rawConnection() {
    const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    const waiting = new Map();
    createInterface({ input: child.stdout }).on('line', (line) => {
        const message = JSON.parse(line);
        waiting.get(message.id)?.(message);
        waiting.delete(message.id);
    });
    const dispatch = (request) =>
        new Promise((answered) => {
            seen.methods.push(request.method);
            const id = seen.methods.length;
            waiting.set(id, answered);
            child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...request })}\n`);
        });
    return { dispatch, end: () => child.stdin.end() };
}

const seen = { asked: [], methods: [] };
const legacy = mode === 'legacy';
const client = new Client(info, {
    capabilities: legacy ? { elicitation: { form: {} } } : capabilities,
    versionNegotiation: { mode: legacy ? 'legacy' : { pin: mode } },
});
await client.connect(new StdioClientTransport({ command, args, stderr: 'inherit' }));
const listed = (await client.listTools()).tools;
const raw = legacy ? undefined : rawConnection();
const framing = { protocolVersion: mode, clientInfo: info, clientCapabilities: capabilities };
const session = tasks.createTaskSessionFromClient(client, {
    endpointId: 'fixture',
    ...(raw ? { rawDispatch: raw.dispatch, v2RequestFraming: framing } : {}),
    onInputRequest: async (request) => {
        seen.asked.push(request.params.message);
        return { action: 'accept', content: { answer: 'yes' } };
    },
});
const call = (name, given) =>
    session.callTool(name, given, {
        declaration: tasks.toolDeclarationFromMcpTool(listed.find((tool) => tool.name === name)),
        ...(legacy ? { task: { preference: 'require' } } : {}),
    });
const settled = async (execution) => ({ kind: execution.kind, ...(await execution.settle()) });

seen.slow = await settled(await call('slow', { steps: 30, interval_ms: 20 }));
seen.ask = await settled(await call('ask', { times: 2, delay_ms: 100 }));
const waiting = await call('wait', {});
seen.waiting = waiting.kind;
await waiting.cancel();
seen.cancelled = (await waiting.settle()).outcome.status;
await session.close();
await client.close();
raw?.end();
console.log(JSON.stringify(seen));
