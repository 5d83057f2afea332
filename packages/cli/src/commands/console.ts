import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Act } from '@looseleaf/console'
import { LooseleafError, isError } from '@looseleaf/core'
import { defineCommand, type AddCommand } from '../define-command.ts'
import { parseWhole } from '../parse-whole.ts'
import type { CommonOptions, Session } from '../session.ts'
import { printable } from '../text.ts'

interface ConsoleCommandOptions extends CommonOptions {
  readonly port?: number
  readonly values?: boolean
  readonly acts?: boolean
}

/** Nobody but this machine reaches it. */
const HOST = '127.0.0.1'
const BASE = '/store'

/** `looseleaf console`: the pages of `@looseleaf/console`, of any store. */
export const addConsole: AddCommand = (program, run) => {
  defineCommand(program, {
    usage: 'console',
    summary: 'Serve pages that show what the store holds, to a browser on this machine',
    details: DETAILS,
    examples: [
      ['console', 'shards, indexes and entities, without their values'],
      ['console --values --acts', 'with values, and with buttons that add and drop indexes'],
    ],
  })
    .option('--port <number>', 'port of 127.0.0.1 (default: one that is free)', parseWhole)
    .option('--values', 'show values, bytes and keys of entities, secrets included')
    .option('--acts', 'allow to add and drop the indexes of the config')
    .action((options: ConsoleCommandOptions) => run(options, (session) => serve(session, options)))
}

const DETAILS = `It serves 127.0.0.1 and asks for no password: every user of this machine who
finds the port may look. So values of entities are shown with --values alone,
and nothing can be done without --acts. With --acts the indexes of the config
can be added and dropped; each act is told on stderr. An index that is added is
filled by a cleaner: that of your application, or \`looseleaf clean\`.

Latencies and what was sent are those of this command alone. Ctrl-C ends it,
with 0.

JSON, when it can be reached:
  { "url" }`

async function serve(session: Session, { port = 0, values, acts }: ConsoleCommandOptions): Promise<void> {
  const { output, signal } = session
  // Pages are much to load, and no other command has any.
  const { createConsole, createLatencies } = await import('@looseleaf/console')
  const latencies = createLatencies()
  const { indexes, file } = await session.settings()
  if (acts === true && indexes.length === 0) {
    const why =
      file === undefined
        ? 'there is no looseleaf.config.ts here or above. Write one with { indexes }, or name it by --config'
        : `${file} has none. Name them there as { indexes } or by { kinds }`
    throw new LooseleafError(
      'BAD_OPTION',
      `--acts adds and drops the indexes of the config, and ${why}; or leave --acts out.`,
    )
  }
  const store = await session.store({ observer: latencies })
  const pages = createConsole({
    store,
    base: BASE,
    // Nobody traces what this command does.
    maxTraces: 0,
    ...(values === true && { mayShow: () => true }),
    ...(indexes.length > 0 && { live: { offer: indexes, latencies } }),
    ...(acts === true && { acts: { onAct: (act) => output.note(actText(act)) } }),
  })
  const server = createServer((request, response) => {
    const { host = 'none' } = request.headers
    const own = (server.address() as AddressInfo).port
    // Pages of other sites can make their own names lead here, and a browser would let them read.
    if (![`${HOST}:${own}`, `localhost:${own}`].includes(host.toLowerCase()))
      response
        .writeHead(421, { 'content-type': 'text/plain; charset=utf-8' })
        .end(`Ask for ${HOST}:${own}.\n`)
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
  if (port > 65_535)
    throw new LooseleafError('BAD_OPTION', `--port takes a number from 1 to 65535; got ${port}.`)
  server.listen({ host: HOST, port })
  try {
    await once(server, 'listening')
  } catch (cause) {
    const why = isError(cause) ? cause.message : String(cause)
    throw new LooseleafError(
      'BAD_OPTION',
      `--port ${port} cannot be listened on: ${why}. Leave it out for a free one.`,
      { cause },
    )
  }
  return (server.address() as AddressInfo).port
}

function actText({ name, about, at, durationMs, failure = 'done' }: Act): string {
  return printable(`${at.toISOString()} ${name} ${about} (${Math.round(durationMs)} ms): ${failure}`)
}
