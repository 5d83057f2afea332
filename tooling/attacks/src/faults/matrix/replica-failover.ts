import { setTimeout as sleep } from 'node:timers/promises'
import { cleanIndex } from '@looseleaf/cleaner'
import { msgpackZlibCodec } from '@looseleaf/codec'
import { formatId } from '@looseleaf/core'
import { bucketRouter } from '@looseleaf/router'
import { openStore } from '../../lab/open-store.ts'
import type { Cluster } from '../../lab/cluster.ts'
import { moment } from '../../lab/records.ts'
import { type ReplicaShard, startReplicaCluster } from '../../lab/replica-shard.ts'
import type { Server } from '../../lab/server.ts'
import { contentIn } from '../load/client.ts'
import type { RowText, Tables } from '../watch/tables.ts'
import { checkLossyHistory, type LossyFailover, type Survivor } from './replica-history.ts'
import type { Scenario, Stage } from './scenario.ts'

/**
 * Longer than a write needs from its first index row to its commit; statements have a deadline of a second.
 */
const CALLS_END_MS = 3_500
const LAG_MS = { least: 150, most: 500 }
const DELETE_DELAY_MS = 5_000

/** Semi-synchronous replication: the replica has every acknowledged write. */
export function semiSyncFailover(): Scenario {
  let cluster: Cluster<ReplicaShard> | undefined
  return {
    name: 'failover, semi-synchronous',
    what: 'the primary of a shard is killed or frozen, and its replica is promoted and gets a new replica; commits wait for the replica (AFTER_SYNC)',
    unit: 'failovers',
    full: 10,
    async ownCluster() {
      cluster = await startReplicaCluster({ mode: 'semi-sync', shards: 2, replicated: [0, 1] })
      return { cluster, remove: async () => undefined }
    },
    async run({ random, amount, wrong }) {
      const { shards } = cluster as Cluster<ReplicaShard>
      let closedMs = 0
      for (let failovers = 0; failovers < amount; failovers++) {
        await sleep(1_500 + random.below(1_000))
        const shard = shards[failovers % shards.length]
        const { wasSemiSync, unconfirmed, goneAt, openedAt } = await (
          shard as (typeof shards)[number]
        ).failOver({
          freeze: failovers % 3 === 2,
          rejoin: failovers % 3 === 1,
        })
        if (!wasSemiSync || unconfirmed > 0)
          wrong(`failover ${failovers} proves nothing: the primary continued without its replica`)
        closedMs = Math.max(closedMs, (openedAt - goneAt) / 1_000)
      }
      return { failovers: amount, 'ms without a primary, at the most': Math.round(closedMs) }
    },
  }
}

interface LossyLayout {
  readonly name: string
  readonly what: string
  readonly full: number
  readonly shards: number
  readonly replicated: readonly number[]
  readonly entities: { readonly hot: number; readonly cold: number }
  readonly deleteDelayMs: number
  /** Whether failovers must lose rows, or must not. */
  readonly missing: 'some' | 'none'
}

/** Asynchronous replication: the promoted server lacks the last commits. */
function lossyFailover(layout: LossyLayout): Scenario {
  const { shards, replicated, deleteDelayMs } = layout
  const router = bucketRouter({ shards })
  let cluster: Cluster<ReplicaShard> | undefined
  let failovers: LossyFailover[] = []
  /** Rows that were missing right after a failover. */
  let suspects: RowText[] = []
  const options = () => ({ router, failovers, fallenBackMayMiss: deleteDelayMs === 0 })

  return {
    name: layout.name,
    what: layout.what,
    unit: 'failovers',
    full: layout.full,
    entities: layout.entities,
    config: { writing: deleteDelayMs === 0 ? {} : { deleteDelayMs } },
    // A cleaner would repair the rows that this scenario counts, so it runs only if none may be missing.
    ofProcess: (number) => ({ cleanerGraceMs: number === 0 && layout.missing === 'none' ? 50 : undefined }),
    needs: ['failovers', 'acknowledged writes lost', ...(layout.missing === 'some' ? [EXCUSED] : [])],
    async ownCluster() {
      failovers = []
      suspects = []
      cluster = await startReplicaCluster({ mode: 'asynchronous', shards, replicated })
      return { cluster, remove: async () => undefined }
    },
    async run(stage) {
      const { random, amount, wrong } = stage
      const found = { missing: 0, fenced: 0, lagMs: 0 }
      for (let n = 0; n < amount; n++) {
        await sleep(700 + random.below(700))
        const shard = replicated[n % replicated.length] as number
        const lagMs = LAG_MS.least + random.below(LAG_MS.most - LAG_MS.least)
        let survivors: ReadonlyMap<string, Survivor> = new Map()
        const failover = await (cluster as Cluster<ReplicaShard>).shards[shard]?.failOver({
          lagMs,
          freeze: n % 3 === 2,
          beforeOpening: async (ask) => {
            survivors = await survivorsOf(ask, stage.database.name)
          },
        })
        if (failover === undefined) throw new Error(`There is no shard ${shard}.`)
        const lossy: LossyFailover = { ...failover, shard, survivors, repairedAt: Infinity }
        failovers.push(lossy)
        const missing = await missingNow(stage.tables)
        found.missing += missing.length
        suspects.push(...missing)
        await sleep(CALLS_END_MS)
        const tally = await cleanOnce(stage)
        lossy.repairedAt = moment()
        found.fenced += tally.fenced
        for (const row of await missingNow(stage.tables)) wrong(`missing after the clean: ${row}`)
        found.lagMs += lagMs
      }
      return {
        failovers: amount,
        'ms of lag on average': Math.round(found.lagMs / amount),
        [MISSING]: found.missing,
        'entities fenced by the cleans': found.fenced,
      }
    },
    judge({ histories, sights, watch }) {
      const judged = checkLossyHistory(histories, sights, [...suspects, ...watch.missing], options())
      return {
        counts: judged.counts,
        wrongs: judged.wrongs,
        facts: {
          'acknowledged writes lost': judged.lost,
          'answers that lacked an entity until the clean': judged.lackedUntilRepaired,
          [EXCUSED]: judged.excusedLooks,
        },
      }
    },
  }
}

const MISSING = 'rows missing right after a failover'
const EXCUSED = 'looks that missed a row which may be gone'

/**
 * With five shards, the router places no tag and no group on shard 1: it holds only rows of its own entities.
 */
const ENTITIES_ALONE = { shards: 5, replicated: [1], entities: { hot: 30, cold: 120 } }

export const replicaFailovers: readonly Scenario[] = [
  semiSyncFailover(),
  lossyFailover({
    ...ENTITIES_ALONE,
    name: 'failover with loss, of entities',
    what: 'a replica that lags by 150 to 500 ms is promoted; the shard has entities and the rows beside them; deleteDelayMs is set',
    full: 8,
    deleteDelayMs: DELETE_DELAY_MS,
    missing: 'none',
  }),
  lossyFailover({
    name: 'failover with loss, of entities and rows',
    what: 'the same, and the shards also have index rows of each other’s entities; a clean runs after each failover',
    full: 8,
    shards: 2,
    replicated: [0, 1],
    entities: { hot: 10, cold: 120 },
    deleteDelayMs: DELETE_DELAY_MS,
    missing: 'some',
  }),
  lossyFailover({
    ...ENTITIES_ALONE,
    name: 'failover with loss, without deleteDelayMs',
    what: 'the first of these without deleteDelayMs, to show its purpose; a clean runs after each failover',
    full: 4,
    deleteDelayMs: 0,
    missing: 'some',
  }),
]

async function survivorsOf(ask: Server['ask'], database: string): Promise<Map<string, Survivor>> {
  const codec = msgpackZlibCodec()
  const rows = await ask(`SELECT id, version, body FROM ${database}.entities`)
  return new Map(
    rows.map(({ id, version, body }): [string, Survivor] => {
      const bag = body === null ? undefined : codec.decode(body as Buffer)
      return [
        formatId(id as Buffer),
        bag === undefined
          ? { version: Number(version) }
          : { version: Number(version), by: Number(bag['by']), content: contentIn(bag) },
      ]
    }),
  )
}

/**
 * Returns the rows that committed entities lack. Reads each entity before and after its rows, and counts it
 * only if both reads find the same version.
 */
async function missingNow(tables: Tables): Promise<RowText[]> {
  for (;;) {
    try {
      const states = await tables.entities()
      const rows = await tables.rows()
      const after = new Map((await tables.entities()).map(({ id, version }) => [id, version]))
      return states
        .filter(({ id, version }) => after.get(id) === version)
        .flatMap((state) => tables.expected(state).filter((row) => !rows.has(row)))
    } catch {
      // Lets the client notice that the old server's connection is lost.
      await sleep(20)
    }
  }
}

/** Cleans as an operator would: through the same addresses, under load. */
async function cleanOnce({ database }: Stage): Promise<{ readonly fenced: number }> {
  const store = await openStore(database.urls)
  try {
    return await cleanIndex(store, undefined, { restart: true })
  } finally {
    await store.close()
  }
}
