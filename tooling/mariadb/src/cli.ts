import { parseArgs } from 'node:util'
import { findServer } from './find-server.ts'
import { startServers } from './start-servers.ts'

const HELP = `Starts private servers of MariaDB or MySQL for manual work.

  pnpm mariadb up [options]     start servers, print their URLs, stop them at Ctrl-C
  pnpm mariadb find             print the server that would be started

  --shards <number>             number of servers (default 2)
  --port-base <port>            first port; the others follow (default: free ports)
  --dir <folder>                folder for the data (default: a temporary folder, removed at the end)
  --database <name>             database to create on each server (default looseleaf)
  --help

The servers listen on 127.0.0.1 only and need neither root nor a service. LOOSELEAF_MYSQLD=/path/to/program selects
mariadbd or mysqld; without it, the machine's server is used.
`

const database = /^[A-Za-z0-9_]{1,64}$/

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    args: process.argv.slice(2).filter((argument) => argument !== '--'),
    allowPositionals: true,
    options: {
      shards: { type: 'string', default: '2' },
      'port-base': { type: 'string' },
      dir: { type: 'string' },
      database: { type: 'string', default: 'looseleaf' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  const [command, ...more] = positionals
  if (values.help || command === undefined) {
    process.stdout.write(HELP)
    return values.help ? 0 : 2
  }
  if (command === 'find' && more.length === 0) {
    const server = findServer()
    console.log(server === undefined ? 'none' : `${server.path}\n${server.version}`)
    return server === undefined ? 1 : 0
  }
  if (command !== 'up' || more.length > 0) throw new Error(`Unknown command; see pnpm mariadb --help.`)
  if (!database.test(values.database)) throw new Error('--database must be a name of letters, digits and _.')
  await up({
    shards: wholeNumber('--shards', values.shards, 1, 64),
    portBase:
      values['port-base'] === undefined
        ? undefined
        : wholeNumber('--port-base', values['port-base'], 1, 65_535),
    folder: values.dir,
    database: values.database,
  })
  return 0
}

async function up(options: {
  shards: number
  portBase: number | undefined
  folder: string | undefined
  database: string
}): Promise<void> {
  const stopRequested = new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => resolve())
  })
  console.log(`Starting ${options.shards} servers …`)
  const servers = await startServers(options.shards, options)
  for (const url of servers.urls) console.log(url)
  console.log(`\nAs one line: ${servers.urls.join(',')}\nCtrl-C stops them.`)
  const awake = setInterval(() => undefined, 2 ** 30)
  await stopRequested
  clearInterval(awake)
  console.log('Stopping …')
  await servers.stop()
}

function wholeNumber(name: string, text: string, least: number, most: number): number {
  const number = Number(text)
  if (!Number.isInteger(number) || number < least || number > most) {
    throw new Error(`${name} must be a whole number from ${least} to ${most}.`)
  }
  return number
}

try {
  process.exitCode = await main()
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
