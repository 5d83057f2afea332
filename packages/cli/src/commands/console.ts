import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Act } from '@looseleaf/console'
import { LooseleafError } from '@looseleaf/core'
import { badOption, messageOf } from '@looseleaf/core/internal'
import { defineCommand, type AddCommand } from '../running/define-command.ts'
import { parseWhole } from '../running/parse-whole.ts'
import type { Invocation } from '../running/invocation.ts'
import { printable } from '../output/text.ts'

interface ConsoleCommandOptions {
  readonly port?: number
  readonly values?: boolean
  readonly acts?: boolean
}

/** Only processes on this machine reach this address. */
const HOST = '127.0.0.1'
const BASE = '/store'

export const addConsole: AddCommand = (program) => {
  defineCommand(program, {
    usage: 'console',
    summary: 'Serve pages about the store to a browser on this machine',
    details: DETAILS,
    examples: [
      ['console', 'shards, indexes and entities, without their values'],
      ['console --values --acts', 'with values, and with buttons that add and drop indexes'],
    ],
  })
    .option('--port <number>', 'port on 127.0.0.1 (default: a free one)', parseWhole)
    .option('--values', 'show values, bytes and keys of entities, including secrets')
    .option('--acts', 'allow adding and dropping the indexes of the config')
    .does(serve)
}

const DETAILS = `The server listens on 127.0.0.1 and asks for no password: every user of this
machine who finds the port can read the pages. So values of entities need
--values, and changes need --acts. With --acts the pages can add and drop the
indexes of the config; each act is printed on stderr. A cleaner fills an added
index: the cleaner of your application, or \`looseleaf clean\`.

Statements on the pages are those of this command alone. Ctrl-C ends it with
exit code 0.

JSON, once the server listens:
  { "url" }`

async function serve(
  invocation: Invocation,
  { port = 0, values, acts }: ConsoleCommandOptions,
): Promise<void> {
  const { output, signal } = invocation
  // Imported here because the pages take long to load and only this command needs them.
  const { createConsole } = await import('@looseleaf/console')
  const { indexes, file } = await invocation.settings()
  if (acts === true && indexes.length === 0) {
    const reason =
      file === undefined
        ? 'there is no looseleaf.config.ts here or above. Write one with { indexes }, or name it by --config'
        : `${file} has none. Name them there as { indexes } or by { kinds }`
    throw badOption(`--acts adds and drops the indexes of the config, and ${reason}; or leave --acts out.`)
  }
  const store = await invocation.openStore()
  const pages = createConsole({
    store,
    base: BASE,
    // This command makes no traces.
    maxTraces: 0,
    mayShow: values === true ? () => true : undefined,
    offer: indexes.length > 0 ? indexes : undefined,
    acts: acts === true ? { onAct: (act) => output.note(actText(act)) } : undefined,
  })
  const server = createServer((request, response) => {
    const { host = 'none' } = request.headers
    const boundPort = (server.address() as AddressInfo).port
    // DNS rebinding: another site can point its own name to 127.0.0.1, and the browser would let that site read the pages.
    if (![`${HOST}:${boundPort}`, `localhost:${boundPort}`].includes(host.toLowerCase()))
      response
        .writeHead(421, { 'content-type': 'text/plain; charset=utf-8' })
        .end(`Ask for ${HOST}:${boundPort}.\n`)
    else if (!pages.handle(request, response)) response.writeHead(302, { location: BASE }).end()
  })
  try {
    const url = `http://${HOST}:${await listen(server, port)}${BASE}`
    output.result({ url }, () => `The store is shown at ${url}. Stop with Ctrl+C.`)
    if (!signal.aborted) await once(signal, 'abort')
  } finally {
    pages.close()
    server.close()
    server.closeAllConnections()
  }
}

async function listen(server: Server, port: number): Promise<number> {
  if (port > 65_535) throw badOption(`--port takes a number from 1 to 65535; got ${port}.`)
  server.listen({ host: HOST, port })
  try {
    await once(server, 'listening')
  } catch (cause) {
    const reason = messageOf(cause)
    throw new LooseleafError(
      'BAD_OPTION',
      `--port ${port} cannot be listened on: ${reason}. Leave it out for a free port.`,
      { cause },
    )
  }
  return (server.address() as AddressInfo).port
}

function actText({ name, about, at, durationMs, failure = 'done' }: Act): string {
  return printable(`${at.toISOString()} ${name} ${about} (${Math.round(durationMs)} ms): ${failure}`)
}
