/**
 * A process that keeps database servers for its parent. It reads one order, writes one report, and stops
 * everything when its input closes, which happens however the parent ends.
 */
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readFile, rm, statfs, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import type { FoundServer } from '../index.d.ts'
import { prepareDataFolders } from './data-folder.ts'
import { findServer, howToInstall } from './find-server.ts'
import { freePort } from './free-port.ts'
import { startServerProcess, USER, type ServerProcess } from './server-process.ts'
import type { Order, Report } from './supervision.ts'

const PORT_ATTEMPTS = 5
/** Folder of Linux whose files are in memory. Containers often have 64 MiB of it. */
const MEMORY = '/dev/shm'
const ROOM_BYTES = 4 * 2 ** 30
const running = new Set<ServerProcess>()
let starting: Promise<void> = Promise.resolve()
let temporary: string | undefined
let ending: Promise<never> | undefined

/**
 * Runs when the parent is gone or closes the input. Waits for starts in progress, so that no server escapes.
 */
function end(): Promise<never> {
  return (ending ??= (async () => {
    await starting.catch(() => undefined)
    await Promise.all([...running].map((server) => server.stop()))
    if (temporary !== undefined) await rm(temporary, { recursive: true, force: true })
    process.exit(0)
  })())
}

async function start({ count, options }: Order): Promise<void> {
  const server = findServer()
  if (server === undefined) throw new Error(howToInstall)
  const place = options.inMemory === true && (await hasRoom(MEMORY)) ? MEMORY : tmpdir()
  temporary = await mkdtemp(join(place, 'looseleaf-mariadb-'))
  // A starting server deletes files in its temporary folder that look like temporary tables, even those of
  // other servers.
  process.env['TMPDIR'] = temporary
  await chmod(temporary, 0o700)
  const folder = options.folder === undefined ? temporary : resolve(options.folder)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const password = await passwordOf(folder)
  const dataFolders = Array.from({ length: count }, (_, i) => join(folder, `shard-${i}`))
  await prepareDataFolders(server, dataFolders)
  const servers = await allOf(dataFolders.map((dataFolder, i) => startOne(server, dataFolder, password, i)))
  const database = options.database === undefined ? '' : `/${options.database}`
  report({
    kind: 'ready',
    urls: servers.map(({ port }) => `mysql://${USER}:${password}@127.0.0.1:${port}${database}`),
    pids: servers.map(({ pid }) => pid),
  })

  async function startOne(
    found: FoundServer,
    dataFolder: string,
    userPassword: string,
    index: number,
  ): Promise<ServerProcess> {
    for (let attempt = 1; ; attempt++) {
      try {
        const started = await startServerProcess({
          server: found,
          name: `shard-${index}`,
          dataFolder,
          runFolder: temporary as string,
          port: options.portBase === undefined ? await freePort() : options.portBase + index,
          password: userPassword,
          database: options.database,
          serverArguments: options.serverArguments ?? [],
          user: options.user ?? 'root',
          environment: options.environment,
          startTimeoutMs: options.startTimeoutMs ?? 60_000,
        })
        running.add(started)
        return started
      } catch (error) {
        // Another process may have taken the free port.
        const another =
          options.portBase === undefined && attempt < PORT_ATTEMPTS && /in use/i.test(String(error))
        if (!another) throw error
      }
    }
  }
}

async function hasRoom(folder: string): Promise<boolean> {
  try {
    const { bavail, bsize } = await statfs(folder)
    return bavail * bsize >= ROOM_BYTES
  } catch {
    return false
  }
}

/** Existing data keep their password, so URLs of an earlier run stay valid if the ports are the same. */
async function passwordOf(folder: string): Promise<string> {
  const path = join(folder, 'password')
  if (existsSync(path)) return (await readFile(path, 'utf8')).trim()
  const password = randomBytes(12).toString('hex')
  await writeFile(path, `${password}\n`, { mode: 0o600 })
  return password
}

/** Like Promise.all, but waits for all promises even if one fails. */
async function allOf<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(promises)
  return Promise.all(promises)
}

function report(line: Report): void {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}

process.stdout.on('error', () => undefined)
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => void end())

const input = createInterface({ input: process.stdin })
input.once('line', (line) => {
  // Our parent writes nothing else.
  starting = start(JSON.parse(line) as Order)
  starting.catch((error: unknown) => {
    const cause = error instanceof Error && error.cause instanceof Error ? `\n${error.cause.message}` : ''
    report({ kind: 'failed', message: `${error instanceof Error ? error.message : String(error)}${cause}` })
  })
})
input.once('close', () => void end())
