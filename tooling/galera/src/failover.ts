import { setTimeout as sleep } from 'node:timers/promises'
import { startServers } from '@looseleaf-tooling/mariadb'
import { openSite, type IndexCheck } from './site.ts'
import { startCluster, type Cluster } from './start-cluster.ts'
import type { Tally } from './tally.ts'

export interface FailoverOptions {
  /** What happens to the node that is written: SIGKILL, or SIGSTOP until the load has moved on. */
  readonly fault: 'kill' | 'pause'
  readonly rounds: number
  /** Servers of their own beside the cluster, as further shards. */
  readonly others: number
  /** Of load before each fault. */
  readonly seconds: number
  readonly callers: number
  readonly serverArguments: readonly string[]
}

export interface Round {
  /** The node that was killed or stopped. */
  readonly fault: number
  readonly movedTo: number
  /** Acknowledged writes per second before the kill. */
  readonly writesPerSecond: number
  /** From the fault until the store is open on the next node; and until the first write there, once callers go on. */
  readonly openMs: number
  readonly firstWriteMs: number
  /** From the start, or waking, of that node until it is in step again, and whether it was sent only what it had missed. */
  readonly rejoinMs: number
  readonly incremental: boolean
}

export interface FailoverRun {
  readonly options: FailoverOptions
  readonly rounds: readonly Round[]
  readonly tally: Tally
  readonly checksUnderLoad: number
  readonly end: IndexCheck
  /** Whether all nodes hold the same rows in the end. */
  readonly nodesEqual: boolean
  /** Steps between the numbers of entities, and the greatest number per entity. */
  readonly addedIdsPerEntity: number
  /** Of the nodes that were never restarted since: `wsrep_local_cert_failures` and `wsrep_local_bf_aborts`. */
  readonly certificationFailures: number
  readonly abortedByOthers: number
}

/**
 * Shard 0 is a cluster, others are servers of their own. The node that is written is killed or stopped under load, and the
 * store is opened on the next one, again and again.
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
      // The load goes on for a moment, and then until the calls that the node leaves behind have failed.
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

/** A node that was sent everything starts with an empty history of its own; one that was sent the rest keeps it. */
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
