import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { LooseleafError } from '@looseleaf/core'
import { READER_GONE } from '../console.ts'
import { defineCommand, type AddCommand } from '../define-command.ts'
import { parseWhole } from '../parse-whole.ts'
import type { CommonOptions, Session } from '../session.ts'

interface ConsoleCommandOptions extends CommonOptions {
  readonly port?: number
  readonly showValues?: boolean
}

const DETAILS = `Serves pages about the store to this machine alone: shards and their buckets,
indexes and their rows, any entity with its bytes and its index rows. It changes
nothing. Ctrl-C ends it, with 0.

Values of entities are not shown, nor are keys of their index rows, unless
--show-values says so: entities may hold passwords.

JSON, one line when it is ready: { "url" }`

const BASE = '/store'

/** `looseleaf console`: the window into a store, on this machine. */
export const addConsole: AddCommand = (program, run) => {
  defineCommand(program, {
    usage: 'console',
    summary: 'Serve pages that show what the store holds',
    details: DETAILS,
    examples: [
      ['console', 'at an address that is printed'],
      ['console --show-values', 'with the values of entities'],
    ],
  })
    .option('--port <number>', 'the port (default: any that is free)', parseWhole)
    .option('--show-values', 'show the values of entities to whoever uses this machine')
    .action((options: ConsoleCommandOptions) => run(options, (session) => serve(session, options)))
}

async function serve(
  session: Session,
  { port = 0, showValues = false }: ConsoleCommandOptions,
): Promise<void> {
  const { output, signal } = session
  // Pages are much to load, and no other command has any.
  const { createConsole } = await import('@looseleaf/console')
  const pages = createConsole({ store: await session.store(), base: BASE, mayShow: () => showValues })
  const server = createServer((request, response) => {
    // Another site may have a name that leads here, and would read what is answered to it.
    if (!isForThisMachine(request)) answer(response, 421, 'This is no name of this machine.')
    else if (request.url === '/') response.writeHead(302, { location: BASE }).end()
    else if (!pages.handle(request, response)) answer(response, 404, 'There is nothing here.')
  })
  server.listen(port, '127.0.0.1')
  try {
    await once(server, 'listening', { signal })
  } catch (error) {
    if (signal.aborted) return
    const { code = '' } = error as NodeJS.ErrnoException
    throw new LooseleafError('BAD_OPTION', `Port ${port} cannot be listened on: ${code}.`, { cause: error })
  }
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${BASE}`
    output.result({ url }, () => `The store is at ${url}\nCtrl-C ends it.`)
    if (!signal.aborted) await once(signal, 'abort')
  } finally {
    pages.close()
    server.close()
    server.closeAllConnections()
  }
  if (signal.reason === READER_GONE) throw signal.reason
}

function isForThisMachine({ headers: { host = '' } }: IncomingMessage): boolean {
  return /^(?:localhost|127\.0\.0\.1)(?::\d+)?$/i.test(host)
}

function answer(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(`${text}\n`)
}
