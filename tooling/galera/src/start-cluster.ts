import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort } from '@looseleaf-tooling/mariadb'
import { createConnection, type RowDataPacket } from 'mysql2/promise'
import { findGalera, howToInstallGalera } from './find-galera.ts'
import type { Answer, Command, NodePorts, Order } from './keeping.ts'

export interface ClusterOptions {
  /** Default 3. */
  readonly nodes?: number
  /** More arguments for every node; they win over those of the launcher. */
  readonly serverArguments?: readonly string[]
  /** Milliseconds until a node has to be in step; 60,000 by default. */
  readonly startTimeoutMs?: number
}

export interface Cluster {
  /** `mysql://…` of each node. */
  readonly urls: readonly string[]
  /** SIGKILL; resolves when the process is gone. */
  kill(node: number): Promise<void>
  /** SIGSTOP: to the others, the node is silent; they go on without it. */
  pause(node: number): Promise<void>
  /** SIGCONT; resolves when the node is in step with the group again. */
  resume(node: number): Promise<void>
  /** Starts a node that was killed; resolves when it is in step with the group. */
  rejoin(node: number): Promise<void>
  /** Sends one statement to a node, on a connection of its own. */
  ask(node: number, statement: string): Promise<Record<string, unknown>[]>
  /** `wsrep_…` of SHOW GLOBAL STATUS. */
  status(node: number): Promise<ReadonlyMap<string, string>>
  /** Resolves when every process is gone, and the folder with them. */
  stop(): Promise<void>
}

const BETWEEN_LOOKS_MS = 50

/**
 * Starts a Galera cluster that belongs to this process: 127.0.0.1, free ports, folders of its own. It ends with
 * `stop()`, and when this process ends in any other way. Throws with the way to install what is missing.
 */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const galera = findGalera()
  if (galera === undefined) throw new Error(howToInstallGalera)
  const ports = await freePorts((options.nodes ?? 3) * 4)
  const nodes = Array.from({ length: options.nodes ?? 3 }, (_, i): NodePorts => {
    const [client, group, ist, sst] = ports.slice(i * 4) as [number, number, number, number]
    return { client, group, ist, sst }
  })
  const password = randomBytes(12).toString('hex')
  const database = 'looseleaf'
  const urls = nodes.map(({ client }) => `mysql://looseleaf:${password}@127.0.0.1:${client}/${database}`)

  const keeper = spawn(process.execPath, [fileURLToPath(new URL('./keeper.ts', import.meta.url))], {
    detached: true,
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, NODE_OPTIONS: '', NODE_NO_WARNINGS: '1' },
  })
  const gone = once(keeper, 'exit')
  keeper.stdin.on('error', () => undefined)
  const waiting = new Map<number, (answer: Answer) => void>()
  createInterface({ input: keeper.stdout }).on('line', (line) => {
    const answer = JSON.parse(line) as Answer // The keeper is ours and writes nothing else.
    waiting.get(answer.call)?.(answer)
    waiting.delete(answer.call)
  })
  const order: Order = { galera, nodes, password, database, serverArguments: options.serverArguments ?? [] }
  keeper.stdin.write(`${JSON.stringify(order)}\n`)

  let calls = 0
  async function tell(action: Command['action'], node: number): Promise<void> {
    const command: Command = { call: ++calls, action, node }
    const answered = new Promise<Answer>((resolve) => waiting.set(command.call, resolve))
    keeper.stdin.write(`${JSON.stringify(command)}\n`)
    const { error } = await Promise.race([answered, gone.then(() => ({ error: 'The keeper is gone.' }))])
    if (error !== undefined) throw new Error(`Node ${node}, ${action}: ${error}`)
  }

  async function ask(node: number, statement: string): Promise<Record<string, unknown>[]> {
    const connection = await createConnection({ uri: urls[node] ?? '', connectTimeout: 2_000 })
    connection.on('error', () => undefined)
    try {
      const [rows] = await connection.query<RowDataPacket[]>(statement)
      return Array.isArray(rows) ? rows : []
    } finally {
      connection.destroy()
    }
  }

  async function status(node: number): Promise<ReadonlyMap<string, string>> {
    const rows = await ask(node, "SHOW GLOBAL STATUS LIKE 'wsrep%'")
    return new Map(rows.map((row) => [String(row['Variable_name']), String(row['Value'])]))
  }

  async function untilInStep(node: number): Promise<void> {
    const deadline = performance.now() + (options.startTimeoutMs ?? 60_000)
    for (;;) {
      const found = await status(node).catch(() => new Map<string, string>())
      if (found.get('wsrep_local_state_comment') === 'Synced' && found.get('wsrep_ready') === 'ON') return
      if (performance.now() > deadline) throw new Error(`Node ${node} did not come into step with the group.`)
      await sleep(BETWEEN_LOOKS_MS)
    }
  }

  /** A node that was silent still takes the old group for the present one; then all agree on a new one. */
  async function untilAllAgree(): Promise<void> {
    const deadline = performance.now() + (options.startTimeoutMs ?? 60_000)
    for (;;) {
      const all = await Promise.all(
        urls.map((_, node) => status(node).catch(() => new Map<string, string>())),
      )
      const groups = new Set(all.map((found) => found.get('wsrep_cluster_conf_id')))
      const complete = all.every((found) => found.get('wsrep_cluster_size') === String(nodes.length))
      if (groups.size === 1 && complete) return
      if (performance.now() > deadline) throw new Error('The nodes did not come together again.')
      await sleep(BETWEEN_LOOKS_MS)
    }
  }

  let stopped: Promise<void> | undefined
  const stop = (): Promise<void> =>
    (stopped ??= (async () => {
      keeper.stdin.end()
      await gone
    })())

  try {
    for (const node of nodes.keys()) {
      await tell(node === 0 ? 'bootstrap' : 'join', node)
      await untilInStep(node)
    }
  } catch (error) {
    await stop()
    throw error
  }
  return {
    urls,
    kill: (node) => tell('kill', node),
    pause: (node) => tell('pause', node),
    async resume(node) {
      await tell('resume', node)
      await untilAllAgree()
      await untilInStep(node)
    },
    async rejoin(node) {
      await tell('join', node)
      await untilInStep(node)
    },
    ask,
    status,
    stop,
  }
}

async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>()
  while (ports.size < count) ports.add(await freePort())
  return [...ports]
}
