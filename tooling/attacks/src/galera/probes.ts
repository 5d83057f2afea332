import { setTimeout as sleep } from 'node:timers/promises'
import { isLooseleafError, type Bag } from '@looseleaf/core'
import type { DataStore } from '@looseleaf/store'
import { openStore } from '../lab/open-store.ts'
import { startServers } from '@looseleaf-tooling/mariadb'
import { createConnection, type ResultSetHeader, type RowDataPacket } from 'mysql2/promise'
import { allIndexes, openSite } from './site.ts'
import { startCluster, type Cluster } from './start-cluster.ts'
import type { Tally } from './tally.ts'

/**
 * Measures writes per second, of new entities with one row in each of two indexes, on a single server and on
 * a cluster.
 */
export async function measureRates(
  seconds: number,
  callers: number,
): Promise<Readonly<Record<string, number>>> {
  const rates: Record<string, number> = {}
  const measure = async (name: string, url: string): Promise<void> => {
    const store = await openStore([url], { indexes: allIndexes, migrate: true })
    const begin = performance.now()
    let written = 0
    await Promise.all(
      Array.from({ length: callers }, async (_, caller) => {
        while (performance.now() - begin < seconds * 1_000) {
          await store.put({ group: `group ${caller}`, tags: [`tag ${written % 7}`] })
          written++
        }
      }),
    )
    rates[name] = Math.round(written / ((performance.now() - begin) / 1_000))
    await store.close()
  }
  const plain = await startServers(1, { database: 'looseleaf' })
  try {
    await measure('one server, flush 1', plain.urls[0] ?? '')
  } finally {
    await plain.stop()
  }
  const cluster = await startCluster()
  try {
    for (const flush of [1, 2, 0]) {
      for (const node of cluster.urls.keys())
        await cluster.ask(node, `SET GLOBAL innodb_flush_log_at_trx_commit = ${flush}`)
      await measure(`three nodes, flush ${flush}`, cluster.urls[0] ?? '')
    }
  } finally {
    await cluster.stop()
  }
  return rates
}

export interface QuorumRun {
  readonly tally: Tally
  /** Milliseconds from the bootstrap of the remaining node until the next acknowledged write. */
  readonly backMs: number
  /** Writes acknowledged without a majority, after the group had noticed. Must be 0. */
  readonly acknowledgedAlone: number
  readonly refusedAlone: number
}

/** Kills two of three nodes. The written node has no majority until an operator bootstraps it. */
export async function probeQuorum(callers: number): Promise<QuorumRun> {
  const cluster = await startCluster()
  try {
    const site = await openSite([cluster.urls[0] ?? ''], callers)
    site.resume()
    await sleep(3_000)
    await Promise.all([cluster.kill(1), cluster.kill(2)])
    while (!(await hasNoMajority(cluster))) await sleep(50)
    await sleep(200)
    const refused = (): number => Object.values(site.tally.refused).reduce((a, b) => a + b, 0)
    const [acknowledged, refusedBefore] = [site.tally.acknowledged, refused()]
    await sleep(3_000)
    const [acknowledgedAlone, refusedAlone] = [
      site.tally.acknowledged - acknowledged,
      refused() - refusedBefore,
    ]
    const begin = performance.now()
    await cluster.ask(0, "SET GLOBAL wsrep_provider_options = 'pc.bootstrap=YES'")
    await site.nextAcknowledged()
    const backMs = Math.round(performance.now() - begin)
    await sleep(2_000)
    await site.pause()
    await site.look()
    await site.sweepAndCheck()
    await site.close()
    return { tally: site.tally, backMs, acknowledgedAlone, refusedAlone }
  } finally {
    await cluster.stop()
  }
}

async function hasNoMajority(cluster: Cluster): Promise<boolean> {
  const status = await cluster.status(0).catch(() => new Map<string, string>())
  return status.get('wsrep_cluster_status')?.toLowerCase() === 'non-primary'
}

export interface FenceRun {
  readonly rounds: number
  /** Fenced writes that committed only after the epoch was raised. */
  readonly late: number
  readonly written: number
  readonly deadlocks: number
}

/**
 * Runs writers that check an epoch within their statement, as the driver does, and a process that raises it:
 * on the same node, and on another one. When the epoch is raised, every write under the old epoch must be
 * visible to the raiser.
 */
export async function probeFence(
  cluster: Cluster,
  writersNode: number,
  raisersNode: number,
): Promise<FenceRun> {
  const connect = async (node: number): Promise<Awaited<ReturnType<typeof createConnection>>> => {
    const connection = await createConnection({ uri: cluster.urls[node] ?? '' })
    await connection.query('SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED')
    await connection.query('SET SESSION wsrep_sync_wait = 1')
    return connection
  }
  const raiser = await connect(raisersNode)
  await raiser.query('DROP TABLE IF EXISTS fence_probe, fence_meta')
  await raiser.query('CREATE TABLE fence_meta (id INT PRIMARY KEY, epoch INT NOT NULL)')
  await raiser.query(
    'CREATE TABLE fence_probe (n BIGINT AUTO_INCREMENT PRIMARY KEY, epoch INT NOT NULL, KEY (epoch))',
  )
  await raiser.query('INSERT INTO fence_meta VALUES (1, 1)')
  await sleep(500)
  let [running, epoch, written, deadlocks] = [true, 1, 0, 0]
  const writers = Array.from({ length: 8 }, async () => {
    const connection = await connect(writersNode)
    while (running) {
      const mine = epoch
      try {
        const [result] = await connection.query<ResultSetHeader>(
          `INSERT INTO fence_probe (epoch) SELECT n.e FROM (SELECT ${mine} AS e) n WHERE (SELECT epoch FROM fence_meta WHERE id = 1 LOCK IN SHARE MODE) = ${mine}`,
        )
        written += result.affectedRows
      } catch (error) {
        if ((error as { errno?: number }).errno !== 1213) throw error
        deadlocks++
      }
    }
    connection.destroy()
  })
  const rounds = 60
  const seen: number[] = []
  const countOf = async (of: number): Promise<number> => {
    const [rows] = await raiser.query<RowDataPacket[]>(
      `SELECT COUNT(*) AS n FROM fence_probe WHERE epoch = ${of}`,
    )
    return Number(rows[0]?.['n'])
  }
  for (let round = 0; round < rounds; round++) {
    await sleep(20)
    for (;;) {
      try {
        await raiser.query(`UPDATE fence_meta SET epoch = ${epoch + 1} WHERE id = 1`)
        break
      } catch (error) {
        if ((error as { errno?: number }).errno !== 1213) throw error
        deadlocks++
      }
    }
    seen.push(await countOf(epoch))
    epoch++
  }
  running = false
  await Promise.all(writers)
  let late = 0
  for (const [place, count] of seen.entries()) late += (await countOf(place + 1)) - count
  raiser.destroy()
  return { rounds, late, written, deadlocks }
}

export interface TwoNodesRun {
  readonly acknowledged: number
  /** Acknowledged increments that are missing, or more increments than were sent. */
  readonly lostUpdates: number
  /** Reads through the other node that missed writes acknowledged before. */
  readonly staleReads: number
  readonly errors: Readonly<Record<string, number>>
  readonly certificationFailures: number
  readonly abortedByOthers: number
}

/** Runs an unsupported setup: two stores write the same entities through two nodes. */
export async function probeTwoNodes(cluster: Cluster, seconds: number): Promise<TwoNodesRun> {
  const open = (node: number, migrate: boolean): Promise<DataStore> =>
    openStore([cluster.urls[node] ?? ''], { indexes: allIndexes, migrate })
  const stores = [await open(0, true), await open(1, false)]
  const { id } = await (stores[0] as DataStore).put({ group: 'counter' })
  await sleep(500)
  const errors: Record<string, number> = {}
  let [acknowledged, unknown, staleReads] = [0, 0, 0]
  const end = performance.now() + seconds * 1_000
  await Promise.all(
    stores.flatMap((store, own) =>
      Array.from({ length: 4 }, async (_, caller) => {
        const name = `${own} ${caller}`
        while (performance.now() < end) {
          try {
            let value = 0
            await store.update(id, (bag: Bag) => ({ ...bag, [name]: (value = Number(bag[name] ?? 0) + 1) }))
            acknowledged++
            const other = (await stores[1 - own]?.get(id)) as Bag | undefined
            if (Number(other?.[name] ?? 0) < value) staleReads++
          } catch (error) {
            if (!isLooseleafError(error)) throw error
            if (error.unknownOutcome) unknown++
            errors[error.code] = (errors[error.code] ?? 0) + 1
          }
        }
      }),
    ),
  )
  await sleep(500)
  const bag = (await stores[0]?.get(id)) as Bag
  const sum = Object.entries(bag).reduce(
    (all, [name, value]) => all + (/^\d \d$/.test(name) ? Number(value) : 0),
    0,
  )
  let [certificationFailures, abortedByOthers] = [0, 0]
  for (const node of [0, 1]) {
    const status = await cluster.status(node)
    certificationFailures += Number(status.get('wsrep_local_cert_failures'))
    abortedByOthers += Number(status.get('wsrep_local_bf_aborts'))
  }
  await Promise.all(stores.map((store) => store.close()))
  return {
    acknowledged,
    lostUpdates: Math.max(0, acknowledged - sum) + Math.max(0, sum - acknowledged - unknown),
    staleReads,
    errors,
    certificationFailures,
    abortedByOthers,
  }
}
