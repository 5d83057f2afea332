import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { isAlive, startServers, type RunningServers, type StartOptions } from '@looseleaf-tooling/mariadb'
import { createSession, type Row } from './session.ts'

/** A database server that can go away and come back, with an administrator's connection. */
export interface Server {
  /** A restart changes it. */
  readonly url: URL
  /** Arguments of its program, without those of the launcher. */
  readonly serverArguments: readonly string[]
  isAlive(): boolean
  ask(statement: string): Promise<Row[]>
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>
  /** SIGSTOP: it keeps its connections and stops answering. */
  freeze(): void
  /** SIGCONT. */
  thaw(): void
  /** Restarts it on its data, as after a kill; `further` arguments come last. */
  restart(further?: readonly string[]): Promise<void>
  /** Stops it and deletes its data. */
  remove(): Promise<void>
}

export interface Servers {
  /** Starts a new, empty server that knows the users. Each has a distinct server number. */
  start(own?: OwnOptions): Promise<Server>
  /** Removes all remaining servers. */
  stop(): Promise<void>
}

export interface OwnOptions {
  /** Folder of its data. Default: a temporary folder. */
  readonly folder?: string | undefined
  /** Additional environment variables. */
  readonly environment?: NodeJS.ProcessEnv | undefined
  /** Additional arguments, after those of all servers. */
  readonly serverArguments?: readonly string[] | undefined
  /** Arguments of only its first start. */
  readonly firstArguments?: readonly string[] | undefined
}

export interface ServersOptions {
  /** Arguments of every server; they override the launcher's. */
  readonly serverArguments: readonly string[]
  /** System user that runs the servers and owns their files, if this process is root. Default: root. */
  readonly user?: string | undefined
  /** Database of every server; part of the URLs. */
  readonly database?: string | undefined
  /** Statements that every server runs first, outside of replication. */
  readonly firstStatements?: readonly string[] | undefined
}

const run = promisify(execFile)

/**
 * Creates servers as copies of a template that never ran a workload. A copy starts in a fraction of a second.
 */
export async function createServers(options: ServersOptions): Promise<Servers> {
  const { serverArguments: common, user, database, firstStatements = [] } = options
  const folder = await mkdtemp(join(tmpdir(), 'looseleaf-lab-'))
  const template = join(folder, 'template')
  const running = new Set<Server>()
  // The server's own startup statements must not enter the replication log.
  const init = join(folder, 'init.sql')
  let numbered = 0

  async function makeTemplate(): Promise<void> {
    await mkdir(template)
    // A small redo log, because it is copied too.
    const small = common.filter((setting) => setting.startsWith('--innodb'))
    const first = await startServers(1, { folder: template, database, serverArguments: small })
    const session = createSession(() => first.urls[0] ?? '')
    try {
      for (const statement of firstStatements) await session.ask(statement)
    } finally {
      session.close()
      await first.stop()
    }
    // MySQL's unique server id; each copy creates its own at its first start.
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
        // Another user cannot access the launcher's folders.
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
  // The process may have crashed already.
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
      // The server has stopped; this ends its supervisor.
      await servers.stop()
      servers = await start(further)
    },
    async remove() {
      onRemove()
      session.close()
      // A frozen server cannot be stopped, only killed.
      signal('SIGKILL')
      await servers.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
