import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { isAlive, startServers, type RunningServers, type StartOptions } from '@looseleaf-tooling/mariadb'
import { createSession, type Row } from './session.ts'

/** A database server that goes away and comes back, spoken to as administrator. */
export interface Server {
  /** Another one after a restart. */
  readonly url: URL
  /** What its program is started with, but for what the launcher adds. */
  readonly serverArguments: readonly string[]
  isAlive(): boolean
  ask(statement: string): Promise<Row[]>
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>
  /** SIGSTOP: it holds its connections and says nothing any more. */
  freeze(): void
  /** SIGCONT. */
  thaw(): void
  /** Starts it again on what it has, as after a kill; further arguments come last. */
  restart(further?: readonly string[]): Promise<void>
  /** Ends it and removes its data. */
  remove(): Promise<void>
}

export interface Servers {
  /** A new, empty server that knows the users; no two have the same number. */
  start(own?: OwnOptions): Promise<Server>
  /** Removes all that are left. */
  stop(): Promise<void>
}

export interface OwnOptions {
  /** Where its data are. Default: a temporary folder. */
  readonly folder?: string | undefined
  /** More of its environment. */
  readonly environment?: NodeJS.ProcessEnv | undefined
  /** More arguments, behind those of all. */
  readonly serverArguments?: readonly string[] | undefined
  /** Arguments of its first start alone. */
  readonly firstArguments?: readonly string[] | undefined
}

export interface ServersOptions {
  /** Arguments of every server; they win over those of the launcher. */
  readonly serverArguments: readonly string[]
  /** The system's user who runs them and to whom their files belong, where this process is root. Default: root. */
  readonly user?: string | undefined
  /** A database that all of them have; it is part of the URLs. */
  readonly database?: string | undefined
  /** What all of them know from the beginning; nothing of it is replicated. */
  readonly firstStatements?: readonly string[] | undefined
}

const run = promisify(execFile)

/** Servers that are copies of one that was made first and never took part: a copy is there in a fraction of a second. */
export async function createServers(options: ServersOptions): Promise<Servers> {
  const { serverArguments: common, user, database, firstStatements = [] } = options
  const folder = await mkdtemp(join(tmpdir(), 'looseleaf-lab-'))
  const template = join(folder, 'template')
  const running = new Set<Server>()
  // What a server does by itself when it starts is its own business, and must not have a number in the replication.
  const init = join(folder, 'init.sql')
  let numbered = 0

  async function makeTemplate(): Promise<void> {
    await mkdir(template)
    // A small redo log, which is copied with everything else.
    const small = common.filter((setting) => setting.startsWith('--innodb'))
    const first = await startServers(1, { folder: template, database, serverArguments: small })
    const session = createSession(() => first.urls[0] ?? '')
    try {
      for (const statement of firstStatements) await session.ask(statement)
    } finally {
      session.close()
      await first.stop()
    }
    // MySQL's name of a server, unique in the world; each makes its own at its first start.
    await rm(join(template, 'shard-0', 'auto.cnf'), { force: true })
    await writeFile(init, 'SET SESSION sql_log_bin = 0;\n')
    if (user !== undefined) await run('chown', ['-R', user, folder])
  }

  const stop = async (): Promise<void> => {
    await Promise.all([...running].map((server) => server.remove()))
    await rm(folder, { recursive: true, force: true })
  }

  try {
    await makeTemplate()
  } catch (error) {
    await stop()
    throw error
  }
  return {
    stop,
    async start({ folder: given, environment, serverArguments = [], firstArguments = [] } = {}) {
      const number = ++numbered
      const own = given ?? join(folder, `server-${number}`)
      await cp(template, own, { recursive: true })
      if (user !== undefined) await run('chown', ['-R', user, own])
      const settings = [
        ...common,
        `--datadir=${join(own, 'shard-0')}`,
        // The launcher's own folders are out of reach for somebody else.
        ...(user === undefined ? [] : filesIn(own)),
        `--server-id=${number}`,
        `--init-file=${init}`,
        ...serverArguments,
      ]
      const server = await startServer(
        { folder: own, user, database, environment, serverArguments: settings },
        firstArguments,
        () => running.delete(server),
      )
      running.add(server)
      return server
    },
  }
}

function filesIn(folder: string): string[] {
  return [`--tmpdir=${folder}`, `--socket=${join(folder, 'socket')}`, `--pid-file=${join(folder, 'pid')}`]
}

async function startServer(
  place: StartOptions & { readonly folder: string; readonly serverArguments: readonly string[] },
  firstArguments: readonly string[],
  onRemove: () => void,
): Promise<Server> {
  const { folder, serverArguments } = place
  const start = (further: readonly string[]): Promise<RunningServers> =>
    startServers(1, { ...place, serverArguments: [...serverArguments, ...further] })
  let servers = await start(firstArguments)
  const pid = (): number => servers.pids[0] ?? 0
  const session = createSession(() => servers.urls[0] ?? '')
  // It may have crashed by itself.
  const signal = (name: NodeJS.Signals): void => void (isAlive(pid()) && process.kill(pid(), name))

  return {
    get url() {
      return new URL(servers.urls[0] ?? '')
    },
    serverArguments,
    isAlive: () => isAlive(pid()),
    ask: session.ask,
    async kill() {
      session.close()
      signal('SIGKILL')
      while (isAlive(pid())) await sleep(5)
    },
    freeze() {
      session.close()
      signal('SIGSTOP')
    },
    thaw: () => signal('SIGCONT'),
    async restart(further = []) {
      session.close()
      // Nothing of it runs any more; this ends the process that watched over it.
      await servers.stop()
      servers = await start(further)
    },
    async remove() {
      onRemove()
      session.close()
      // One that was frozen could not be stopped.
      signal('SIGKILL')
      await servers.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
