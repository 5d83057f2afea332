import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isAlive, startServers, type RunningServers } from '@looseleaf-tooling/mariadb'
import { createConnection, type Connection, type RowDataPacket } from 'mysql2/promise'
import { startFaultProxy } from '../proxy/fault-proxy.ts'
import { assembleCluster, LOAD_USER, type Cluster, type RunningShard } from './cluster.ts'

export interface ClusterOptions {
  readonly shards?: number | undefined
  /** Where a shard keeps its data, by its number. Default: a temporary folder. */
  readonly folders?: Readonly<Record<number, string>> | undefined
  /** More arguments for every server. */
  readonly serverArguments?: readonly string[] | undefined
  /** More of its environment for a shard's server, by the shard's number. */
  readonly environments?: Readonly<Record<number, NodeJS.ProcessEnv>> | undefined
}

export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const folder = await mkdtemp(join(tmpdir(), 'looseleaf-faults-'))
  const password = randomBytes(12).toString('hex')
  const numbers = Array.from({ length: options.shards ?? 2 }, (_, number) => number)
  return assembleCluster(
    numbers.map((number) =>
      startShard(
        {
          folder: options.folders?.[number] ?? join(folder, `${number}`),
          temporary: join(folder, `${number}-tmp`),
          serverArguments: options.serverArguments ?? [],
          environment: options.environments?.[number] ?? {},
        },
        password,
      ),
    ),
    password,
    () => rm(folder, { recursive: true, force: true }),
  )
}

/** How the server of a shard is started, each time. */
interface ServerPlace {
  readonly folder: string
  readonly temporary: string
  readonly serverArguments: readonly string[]
  readonly environment: NodeJS.ProcessEnv
}

async function startShard(place: ServerPlace, password: string): Promise<RunningShard> {
  await mkdir(place.temporary, { recursive: true })
  const start = (): Promise<RunningServers> => startIn(place)
  let servers = await start()
  const base = (): URL => new URL(servers.urls[0] ?? '')
  const proxy = await startFaultProxy(Number(base().port))

  // One that stays: where others are shut out because of their number, it is in already.
  let connection: Connection | undefined
  let crashes = 0
  let isKilled = false

  async function ask(statement: string): Promise<Record<string, unknown>[]> {
    if (connection === undefined) {
      const own = await createConnection({ uri: base().href, connectTimeout: 10_000 })
      own.on('error', () => {
        if (connection === own) connection = undefined
      })
      connection = own
    }
    const [rows] = await connection.query<RowDataPacket[]>(statement)
    return Array.isArray(rows) ? rows : []
  }

  async function admin(statement: string): Promise<Record<string, unknown>[]> {
    try {
      return await ask(statement)
    } catch (error) {
      // What the server itself has answered, such as that there is no such thread to be killed.
      if ((error as { sqlState?: string }).sqlState) throw error
      // It may be the connection that is broken, or the server that has crashed by itself, which is a fault as well.
      hangUp()
      if (isKilled || isAlive(servers.pids[0] ?? 0)) throw error
      crashes++
      await restart()
      return ask(statement)
    }
  }

  async function restart(): Promise<void> {
    // Nothing of it runs any more; this ends the process that watched over it.
    await servers.stop()
    servers = await start()
    isKilled = false
    proxy.setTarget(Number(base().port))
  }

  function hangUp(): void {
    connection?.destroy()
    connection = undefined
  }

  const user = `'${LOAD_USER}'@'127.0.0.1'`
  await admin(`CREATE USER IF NOT EXISTS ${user} IDENTIFIED BY '${password}'`)
  await admin(`ALTER USER ${user} IDENTIFIED BY '${password}'`)
  return {
    proxy,
    admin,
    url(database) {
      const url = base()
      url.pathname = `/${database}`
      return url.href
    },
    async kill() {
      const pid = servers.pids[0] ?? 0
      hangUp()
      isKilled = true
      process.kill(pid, 'SIGKILL')
      while (isAlive(pid)) await sleep(5)
    },
    restart,
    get crashes() {
      return crashes
    },
    async stop() {
      hangUp()
      await proxy.close()
      await servers.stop()
    },
  }
}

/**
 * A server that starts deletes the temporary tables of every other one that shares its folder for them, and those crash
 * when they meet one that is gone. So each has a folder of its own, from its very first start on.
 */
function startIn({ folder, temporary, serverArguments, environment }: ServerPlace): Promise<RunningServers> {
  const changes = Object.entries({ TMPDIR: temporary, ...environment })
  const before = changes.map(([name]) => [name, process.env[name]] as const)
  try {
    // The process that runs the server is started within this call, and inherits what stands here.
    for (const [name, value] of changes) process.env[name] = value
    return startServers(1, { folder, serverArguments: [`--tmpdir=${temporary}`, ...serverArguments] })
  } finally {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
  }
}
