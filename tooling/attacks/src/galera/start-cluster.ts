import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { freePort } from '@looseleaf-tooling/mariadb'
import { createServers, type Server } from '../lab/server.ts'
import type { Row } from '../lab/session.ts'
import { holdsWithin } from '../lab/until.ts'
import { findGalera, howToInstallGalera } from './find-galera.ts'

export interface ClusterOptions {
  /** Additional arguments of every node; they override the launcher's. */
  readonly serverArguments?: readonly string[]
}

export interface Cluster {
  /** `mysql://…` of each node. A restart changes it. */
  readonly urls: readonly string[]
  /** SIGKILL; resolves when the process is gone. */
  kill(node: number): Promise<void>
  /** SIGSTOP: the node is silent, and the others continue without it. */
  pause(node: number): Promise<void>
  /** SIGCONT; resolves when the node is in sync with the group. */
  resume(node: number): Promise<void>
  /** Starts a killed node; resolves when it is in sync with the group. */
  rejoin(node: number): Promise<void>
  /** Sends one statement to a node. */
  ask(node: number, statement: string): Promise<Row[]>
  /** `wsrep_…` of SHOW GLOBAL STATUS. */
  status(node: number): Promise<ReadonlyMap<string, string>>
  /** Resolves when every process and the folder are gone. */
  stop(): Promise<void>
}

const NODES = 3
const BETWEEN_LOOKS_MS = 50
const IN_STEP_MS = 60_000

const run = promisify(execFile)

/**
 * Starts a Galera cluster that belongs to this process: 127.0.0.1, free ports, private folders. It ends with
 * `stop()`, or with this process. Throws with install instructions if a program is missing.
 */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const galera = findGalera()
  if (galera === undefined) throw new Error(howToInstallGalera)
  // As root, rsync would drop its privileges and could not write the nodes' folders.
  const user = process.getuid?.() === 0 ? 'mysql' : undefined
  const groupPorts = await freePorts(NODES)
  const group = groupPorts.map((port) => `127.0.0.1:${port}`).join()
  const servers = await createServers({
    user,
    serverArguments: [
      '--binlog-format=ROW',
      '--innodb-autoinc-lock-mode=2',
      '--innodb-log-file-size=48M',
      '--wsrep-on=ON',
      `--wsrep-provider=${galera.provider}`,
      '--wsrep-cluster-name=looseleaf',
      `--wsrep-cluster-address=gcomm://${group}`,
      '--wsrep-node-address=127.0.0.1',
      '--wsrep-sst-method=rsync',
      ...(options.serverArguments ?? []),
    ],
    database: 'looseleaf',
  })
  const nodes: Server[] = []

  async function startNode(number: number): Promise<void> {
    const [ist, sst] = await freePorts(2)
    const node = await servers.start({
      serverArguments: [
        `--wsrep-node-name=node-${number}`,
        `--wsrep-sst-receive-address=127.0.0.1:${sst}`,
        `--wsrep-provider-options=gmcast.listen_addr=tcp://127.0.0.1:${groupPorts[number]};ist.recv_addr=127.0.0.1:${ist};gcache.size=64M`,
      ],
      firstArguments: number === 0 ? ['--wsrep-new-cluster'] : [],
    })
    nodes.push(node)
    await untilInStep(number)
  }

  function nodeOf(number: number): Server {
    const node = nodes[number]
    if (node === undefined) throw new RangeError(`There is no node ${number}.`)
    return node
  }

  /**
   * Reads the node's position from InnoDB, as a service does after a crash, so that the node receives only
   * the rest.
   */
  async function startPosition(node: Server): Promise<string[]> {
    const output = await run(
      galera?.server ?? '',
      [
        '--no-defaults',
        ...(user === undefined ? [] : [`--user=${user}`]),
        ...node.serverArguments,
        '--wsrep-recover',
      ],
      { maxBuffer: 2 ** 26 },
    ).then(
      ({ stdout, stderr }) => stdout + stderr,
      () => '',
    )
    const position = /Recovered position:\s*(\S+)/.exec(output)?.[1]
    return position === undefined ? [] : [`--wsrep-start-position=${position}`]
  }

  async function status(node: number): Promise<ReadonlyMap<string, string>> {
    const rows = await nodeOf(node).ask("SHOW GLOBAL STATUS LIKE 'wsrep%'")
    return new Map(rows.map((row) => [String(row['Variable_name']), String(row['Value'])]))
  }

  const statusOrNone = (node: number): Promise<ReadonlyMap<string, string>> =>
    status(node).catch(() => new Map<string, string>())

  async function until(holds: () => Promise<boolean>, otherwise: string): Promise<void> {
    if (!(await holdsWithin(IN_STEP_MS, holds, BETWEEN_LOOKS_MS))) throw new Error(otherwise)
  }

  const untilInStep = (node: number): Promise<void> =>
    until(async () => {
      const found = await statusOrNone(node)
      return found.get('wsrep_local_state_comment') === 'Synced' && found.get('wsrep_ready') === 'ON'
    }, `Node ${node} did not come into step with the group.`)

  /** A silent node still believes in the old group until all nodes agree on a new one. */
  const untilAllAgree = (): Promise<void> =>
    until(async () => {
      const all = await Promise.all(nodes.keys().map(statusOrNone))
      const groups = new Set(all.map((found) => found.get('wsrep_cluster_conf_id')))
      return groups.size === 1 && all.every((found) => found.get('wsrep_cluster_size') === String(NODES))
    }, 'The nodes did not come together again.')

  try {
    for (let number = 0; number < NODES; number++) await startNode(number)
  } catch (error) {
    await servers.stop()
    throw error
  }
  return {
    get urls() {
      return nodes.map(({ url }) => url.href)
    },
    kill: (node) => nodeOf(node).kill(),
    pause: async (node) => nodeOf(node).freeze(),
    async resume(node) {
      nodeOf(node).thaw()
      await untilAllAgree()
      await untilInStep(node)
    },
    async rejoin(node) {
      await nodeOf(node).restart(await startPosition(nodeOf(node)))
      await untilInStep(node)
    },
    ask: (node, statement) => nodeOf(node).ask(statement),
    status,
    stop: () => servers.stop(),
  }
}

async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>()
  while (ports.size < count) ports.add(await freePort())
  return [...ports]
}
