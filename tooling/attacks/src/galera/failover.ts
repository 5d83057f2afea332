import { setTimeout as sleep } from 'node:timers/promises'
import { startServers } from '@looseleaf-tooling/mariadb'
import { openSite, type IndexCheck } from './site.ts'
import { startCluster, type Cluster } from './start-cluster.ts'
import type { Tally } from './tally.ts'

export interface FailoverOptions {
  /** Fault of the written node: SIGKILL, or SIGSTOP until the load has moved on. */
  readonly fault: 'kill' | 'pause'
  readonly rounds: number
  /** Number of single servers beside the cluster, as further shards. */
  readonly others: number
  /** Seconds of load before each fault. */
  readonly seconds: number
  readonly callers: number
  readonly serverArguments: readonly string[]
}

export interface Round {
  /** Node that was killed or stopped. */
  readonly fault: number
  readonly movedTo: number
  /** Acknowledged writes per second before the fault. */
  readonly writesPerSecond: number
  /**
   * Milliseconds from the fault until the store is open on the next node; and until the first write there,
   * with the callers resumed.
   */
  readonly openMs: number
  readonly firstWriteMs: number
  /**
   * Milliseconds from the node's start, or wake-up, until it is in sync; and whether it received only what it
   * had missed.
   */
  readonly rejoinMs: number
  readonly incremental: boolean
}

export interface FailoverRun {
  readonly options: FailoverOptions
  readonly rounds: readonly Round[]
  readonly tally: Tally
  readonly checksUnderLoad: number
  readonly end: IndexCheck
  /** Whether all nodes have the same rows in the end. */
  readonly nodesEqual: boolean
  /** Difference between consecutive entity numbers, and greatest number per entity. */
  readonly addedIdsPerEntity: number
  /** `wsrep_local_cert_failures` and `wsrep_local_bf_aborts` of nodes that were not restarted since. */
  readonly certificationFailures: number
  readonly abortedByOthers: number
}

/**
 * Runs load on shard 0, a cluster, and on other shards, which are single servers. Repeatedly kills or stops
 * the written node and opens the store on the next one.
 */
export async function runFailover(
  options: FailoverOptions,
  say: (line: string) => void,
): Promise<FailoverRun> {
  const cluster = await startCluster({ serverArguments: options.serverArguments })
  const others =
    options.others === 0 ? undefined : await startServers(options.others, { database: 'looseleaf' })
  try {
    const urlsOf = (node: number): string[] => [cluster.urls[node] ?? '', ...(others?.urls ?? [])]
    const site = await openSite(urlsOf(0), options.callers)
    const rounds: Round[] = []
    let [node, certificationFailures, abortedByOthers] = [0, 0, 0]
    for (let round = 0; round < options.rounds; round++) {
      const before = site.tally.acknowledged
      site.resume()
      await sleep(options.seconds * 1_000)
      const writesPerSecond = (site.tally.acknowledged - before) / options.seconds
      const status = await cluster.status(node)
      certificationFailures += Number(status.get('wsrep_local_cert_failures'))
      abortedByOthers += Number(status.get('wsrep_local_bf_aborts'))

      const killed = node
      node = (node + 1) % cluster.urls.length
      const begin = performance.now()
      await cluster[options.fault](killed)
      // The load continues for a moment, then until its calls to the old node have failed.
      await sleep(500)
      const paused = site.pause()
      const movedMs = performance.now() - begin
      const openMs = movedMs + (await site.move(urlsOf(node)))
      await paused
      await site.look()
      site.resume()
      const firstWriteMs = await site.nextAcknowledged()

      const rejoinBegin = performance.now()
      await (options.fault === 'kill' ? cluster.rejoin(killed) : cluster.resume(killed))
      const rejoinMs = performance.now() - rejoinBegin
      const incremental = await wasIncremental(cluster, killed)
      await site.pause()
      await site.look()
      rounds.push({
        fault: killed,
        movedTo: node,
        writesPerSecond: Math.round(writesPerSecond),
        openMs: Math.round(openMs),
        firstWriteMs: Math.round(firstWriteMs),
        rejoinMs: Math.round(rejoinMs),
        incremental,
      })
      say(`round ${round + 1}: ${JSON.stringify(rounds.at(-1))} wrong: ${site.tally.wrongs.length}`)
    }
    const end = await site.sweepAndCheck()
    const { shards } = await site.store().status()
    const [numbers] = await cluster.ask(node, 'SELECT MAX(added_id) AS last FROM entities')
    const rowsThere = (shards[0]?.entities ?? 0) + (shards[0]?.tombstones ?? 0)
    await site.close()
    return {
      options,
      rounds,
      tally: site.tally,
      checksUnderLoad: site.checksUnderLoad(),
      end,
      nodesEqual: await nodesEqual(cluster),
      addedIdsPerEntity: Number(numbers?.['last']) / rowsThere,
      certificationFailures,
      abortedByOthers,
    }
  } finally {
    await Promise.all([cluster.stop(), others?.stop()])
  }
}

/**
 * A node that received everything starts with an empty history; a node that received the rest keeps its own.
 */
async function wasIncremental(cluster: Cluster, node: number): Promise<boolean> {
  const [row] = await cluster.ask(node, "SHOW GLOBAL VARIABLES LIKE 'wsrep_start_position'")
  return !String(row?.['Value']).endsWith(':-1')
}

async function nodesEqual(cluster: Cluster): Promise<boolean> {
  const sums: string[] = []
  for (const node of cluster.urls.keys()) {
    const tables = await cluster.ask(
      node,
      'SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY 1',
    )
    const names = tables.map(({ name }) => `\`${String(name)}\``).join()
    await cluster.ask(node, 'SET SESSION wsrep_sync_wait = 15')
    sums.push(JSON.stringify(await cluster.ask(node, `CHECKSUM TABLE ${names}`)))
  }
  return new Set(sums).size === 1
}
