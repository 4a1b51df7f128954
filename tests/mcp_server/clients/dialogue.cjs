// What a client of the TypeScript SDK says to the fixture server, of either generation. Prints what it saw as JSON.
//
//   node dialogue.cjs legacy|auto|VERSION|v1 NODE_MODULES COMMAND [ARGUMENT…]
const { createRequire } = require('node:module');
const [mode, modules, command, ...args] = process.argv.slice(2);
const load = createRequire(`${modules}/`);

function makeClient() {
    const info = { name: 'typescript', version: '1' };
    const capabilities = { elicitation: { form: {} } };
    if (mode === 'v1') {
        const { Client } = load('@modelcontextprotocol/sdk/client/index.js');
        const { StdioClientTransport } = load('@modelcontextprotocol/sdk/client/stdio.js');
        const { ElicitRequestSchema } = load('@modelcontextprotocol/sdk/types.js');
        const client = new Client(info, { capabilities });
        return { client, Transport: StdioClientTransport, elicitation: ElicitRequestSchema };
    }
    const { Client } = load('@modelcontextprotocol/client');
    const { StdioClientTransport } = load('@modelcontextprotocol/client/stdio');
    const negotiation = ['legacy', 'auto'].includes(mode) ? mode : { pin: mode };
    const client = new Client(info, { capabilities, versionNegotiation: { mode: negotiation } });
    return { client, Transport: StdioClientTransport, elicitation: 'elicitation/create' };
}

async function main() {
    const { client, Transport, elicitation } = makeClient();
    const seen = { asked: [] };
    const answers = [
        { action: 'accept', content: { answer: 'ja, gern: ä✓' } },
        { action: 'decline' },
        { action: 'cancel' },
        { action: 'accept', content: { answer: 'one' } },
        { action: 'accept', content: { answer: 'two' } },
    ];
    client.setRequestHandler(elicitation, async (request) => {
        seen.asked.push(request.params.message);
        return answers.shift();
    });
    await client.connect(new Transport({ command, args, stderr: 'inherit' }));
    const call = (name, given = {}, options = {}) =>
        mode === 'v1'
            ? client.callTool({ name, arguments: given }, undefined, options)
            : client.callTool({ name, arguments: given }, options);

    seen.version = mode === 'v1' ? client.transport?._protocolVersion : client.getNegotiatedProtocolVersion();
    seen.server = client.getServerVersion();
    seen.instructions = client.getInstructions();
    seen.tools = (await client.listTools()).tools;
    const nested = { text: 'ä✓\n"', list: [1, null, { deep: [true] }], big: 9007199254740991, z: 1, a: 2 };
    seen.echo = await call('echo', nested);
    seen.nested = nested;
    seen.add = await call('add', { a: 2, b: 40 });
    seen.wrong = await call('add', { a: 'two', b: 40 });
    seen.unknown = await call('nope').then(
        () => 'no error',
        (error) => error.code,
    );
    seen.image = await call('image');
    seen.fail = await call('fail');
    seen.throws = await call('throws');
    seen.big = await call('big', { bytes: 9_000_000 });
    seen.large = (await call('big', { bytes: 7_000_000 })).content[0].text.length;
    seen.client = JSON.parse((await call('client')).content[0].text);

    seen.progress = [];
    seen.slow = await call('slow', { steps: 4, interval_ms: 50 }, { onprogress: (made) => seen.progress.push(made) });
    seen.answers = [];
    for (const times of [1, 1, 1, 2]) seen.answers.push((await call('ask', { times })).content[0].text);

    const abort = new AbortController();
    const waiting = call('wait', {}, { signal: abort.signal }).then(
        () => 'no error',
        (error) => String(error),
    );
    while (JSON.parse((await call('waited')).content[0].text).begun === 0) await new Promise((done) => setTimeout(done, 5));
    abort.abort('enough');
    seen.aborted = await waiting;
    let waited;
    do waited = JSON.parse((await call('waited')).content[0].text);
    while (waited.cancelled === 0);
    seen.waited = waited;

    const many = await Promise.all([...Array(50).keys()].map((n) => call('add', { a: n, b: 1 })));
    seen.many = many.map((result) => result.structuredContent?.sum ?? JSON.parse(result.content[0].text).sum);
    const begin = Date.now();
    await client.close();
    seen.closing = Date.now() - begin;
    console.log(JSON.stringify(seen));
}

main().catch((error) => {
    console.error(error);
    process.exit(1);
});
