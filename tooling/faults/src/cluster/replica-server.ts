import { cp, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startServers, type RunningServers } from '@looseleaf-tooling/mariadb'
import { createConnection, type Connection, type RowDataPacket } from 'mysql2/promise'

/** One server that can be a primary or a replica, spoken to as administrator. */
export interface ReplicaServer {
  readonly port: number
  readonly url: URL
  ask(statement: string): Promise<Record<string, unknown>[]>
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>
  /** SIGSTOP: it holds its connections and says nothing any more. */
  freeze(): void
  /** Starts it again on what it has, as after a kill; further arguments come last. */
  restart(further?: readonly string[]): Promise<void>
  /** Ends it and removes its data. */
  remove(): Promise<void>
}

export interface ReplicaServers {
  /** A new, empty server that knows the users; no two have the same number. */
  start(): Promise<ReplicaServer>
  stop(): Promise<void>
}

/**
 * Servers that are copies of one that was made first and never took part: a copy is there in a fraction of a second.
 * `prepare` is run on that first one, before anything is replicated.
 */
export async function createReplicaServers(
  folder: string,
  settings: readonly string[],
  prepare: (ask: ReplicaServer['ask']) => Promise<void>,
): Promise<ReplicaServers> {
  const template = join(folder, 'template')
  const running = new Set<ReplicaServer>()
  await mkdir(template, { recursive: true })
  // A small redo log, which is copied with everything else.
  const small = settings.filter((setting) => setting.startsWith('--innodb'))
  const first = await startServers(1, { folder: template, serverArguments: small })
  const session = createSession(() => first.urls[0] ?? '')
  await prepare(session.ask)
  session.close()
  await first.stop()
  // MySQL's name of a server, unique in the world; each makes its own at its first start.
  await rm(join(template, 'shard-0', 'auto.cnf'), { force: true })

  // What a server does by itself when it starts is its own business, and must not have a number in the replication.
  const init = join(folder, 'init.sql')
  await writeFile(init, 'SET SESSION sql_log_bin = 0;\n')

  let numbered = 0
  return {
    async start() {
      const number = ++numbered
      const own = join(folder, `server-${number}`)
      await cp(template, own, { recursive: true })
      const server = await startReplicaServer(
        own,
        [...settings, `--server-id=${number}`, `--init-file=${init}`],
        () => running.delete(server),
      )
      running.add(server)
      return server
    },
    async stop() {
      await Promise.all([...running].map((server) => server.remove()))
    },
  }
}

async function startReplicaServer(
  folder: string,
  serverArguments: readonly string[],
  onRemove: () => void,
): Promise<ReplicaServer> {
  const start = (further: readonly string[]): Promise<RunningServers> =>
    startServers(1, { folder, serverArguments: [...serverArguments, ...further] })
  let servers = await start([])
  let port = Number(new URL(servers.urls[0] ?? '').port)
  const pid = (): number => servers.pids[0] ?? 0
  const session = createSession(() => servers.urls[0] ?? '')

  return {
    get port() {
      return port
    },
    get url() {
      return new URL(servers.urls[0] ?? '')
    },
    ask: session.ask,
    async kill() {
      session.close()
      signal(pid(), 'SIGKILL')
      while (signal(pid(), 0)) await sleep(5)
    },
    freeze() {
      session.close()
      signal(pid(), 'SIGSTOP')
    },
    async restart(further = []) {
      session.close()
      await servers.stop()
      servers = await start(further)
      port = Number(new URL(servers.urls[0] ?? '').port)
    },
    async remove() {
      onRemove()
      session.close()
      // One that was frozen could not be stopped.
      signal(pid(), 'SIGKILL')
      await servers.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function createSession(url: () => string): { ask: ReplicaServer['ask']; close(): void } {
  let connection: Connection | undefined
  return {
    async ask(statement) {
      if (connection === undefined) {
        const own = await createConnection({ uri: url(), connectTimeout: 10_000, supportBigNumbers: true })
        own.on('error', () => {
          if (connection === own) connection = undefined
        })
        connection = own
      }
      const [rows] = await connection.query<RowDataPacket[]>(statement)
      return Array.isArray(rows) ? rows : []
    },
    close() {
      connection?.destroy()
      connection = undefined
    },
  }
}

/** False when there is no such process. */
function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    process.kill(pid, name)
    return true
  } catch {
    return false
  }
}
