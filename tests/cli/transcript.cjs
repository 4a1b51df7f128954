// What a user of a client of the official TypeScript SDK does with `ipybox mcp`. Prints what was seen as JSON.
//
//   node transcript.cjs legacy|VERSION NODE_MODULES FILESYSTEM_SERVER DIRECTORY PLOT COMMAND [ARGUMENT…]
const { createRequire } = require('node:module');
const [mode, modules, filesystem, directory, plot, command, ...args] = process.argv.slice(2);
const load = createRequire(`${modules}/`);
const { Client } = load('@modelcontextprotocol/client');
const { StdioClientTransport } = load('@modelcontextprotocol/client/stdio');

async function main() {
    const negotiation = mode === 'legacy' ? mode : { pin: mode };
    const client = new Client(
        { name: 'transcript', version: '1' },
        { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: negotiation } },
    );
    const seen = { asked: [], progress: [] };
    const decisions = ['accept', 'accept', 'reject'];
    client.setRequestHandler('elicitation/create', async (request) => {
        seen.asked.push(request.params.message);
        return { action: 'accept', content: { decision: decisions.shift(), reason: 'enough for today' } };
    });
    await client.connect(new StdioClientTransport({ command, args, stderr: 'inherit', env: process.env }));
    const call = (name, given = {}, options = {}) => client.callTool({ name, arguments: given }, options);
    const run = (code, options = {}) => call('execute_ipython_cell', { code }, options);

    seen.version = client.getNegotiatedProtocolVersion();
    seen.tools = (await client.listTools()).tools.map((tool) => tool.name);

    const server_params = { command: 'node', args: [filesystem, directory] };
    seen.registered = await call('register_mcp_server', { server_name: 'fs', server_params });
    const read = `from mcptools.fs import read_text_file\nprint(read_text_file.run(read_text_file.Params(path=${JSON.stringify(directory + '/hello.txt')})))`;
    seen.read = await run(read);
    seen.rejected = await run(read);
    seen.plot = await run(plot);

    const abort = new AbortController();
    const begun = new Promise((done) => {
        seen.cancelled = run("x = 41\nimport time\nfor i in range(1000):\n    print('step', i)\n    time.sleep(0.05)", {
            signal: abort.signal,
            onprogress: (made) => {
                seen.progress.push(made.message);
                if (made.message.includes('step 0')) done();
            },
        }).then(
            () => 'no error',
            (error) => String(error),
        );
    });
    await begun;
    abort.abort('stop');
    seen.cancelled = await seen.cancelled;
    seen.after = await run('x + 1');
    seen.output = await call('cell_output', { id: '4' });

    seen.reset = await call('reset');
    seen.gone = await run('x');
    await client.close();
    console.log(JSON.stringify(seen));
}

main().catch((error) => {
    console.error(error);
    process.exit(1);
});
