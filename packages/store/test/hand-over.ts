import type { Driver, Shard } from '@looseleaf/core'
import { bucketsIn, unionOfRanges, withoutRanges, type ShardServes } from '@looseleaf/core/internal'
import { changeCatalogContents, changeServes } from '@looseleaf/index-engine/internal'
import { bucketOfId } from '@looseleaf/router'

/** All buckets of shard 0 of two, which move to shard 1. */
export const MOVING = '0-2047'

const motion = { move: 1, attempt: 1 }

/** The steps of a move of all buckets from shard 0 to shard 1 of two, made by hand, as by another process. */
export interface HandOver {
  /** Announces the move, and begins the attempt on both shards. */
  begin(): Promise<void>
  seal(group: string): Promise<void>
  /** Copies the entities of a sealed group, and gives it up. Returns false, and gives nothing up, if the seal was taken away. */
  giveUp(group: string): Promise<boolean>
  /** Lets the target begin a group that was given up. */
  beginAtTarget(group: string): Promise<void>
}

export function handOverOf({ shards }: Driver): HandOver {
  const [source, target] = shards as [Shard, Shard]
  /** Epoch of the source under the seal. */
  let seal = 0
  /** Epoch of the target, and its floor when it got that. */
  let coming = { epoch: 0, updated: 0 }

  async function change(shard: Shard, edit: (serves: ShardServes) => ShardServes): Promise<number> {
    for (;;) {
      const catalog = (await shard.catalog.load())!
      const owns = catalog.layout!.shards[catalog.shardNumber]!.buckets!
      const changed = await changeServes(shard, catalog, edit(catalog.serves ?? { owns }))
      if (changed !== undefined) return changed.epoch
    }
  }

  async function copy(group: string): Promise<number> {
    const buckets = new Set(bucketsIn(group))
    const page = await source.entities.pageOfChecksums({ after: { updated: 0, addedId: 0 } }, 100_000)
    const moving = page.filter(({ id }) => buckets.has(bucketOfId(id)))
    for (let start = 0; start < moving.length; start += 500) {
      const ids = moving.slice(start, start + 500).map(({ id }) => id)
      const rows = await source.entities.read(ids)
      await target.entities.receive(
        rows.map((row) => row!),
        coming,
      )
    }
    return 1 + Math.max(-1, ...moving.map(({ updated }) => updated))
  }

  return {
    async begin() {
      await changeCatalogContents({ shards, close: async () => {} }, ({ layout, ...contents }) => ({
        ...contents,
        layout: {
          ...layout!,
          revision: 1,
          moves: [{ id: 1, from: 0, to: 1, buckets: MOVING, phase: 'both' }],
        },
      }))
      await change(source, (serves) => ({ ...serves, leaving: [{ ...motion, buckets: MOVING, to: 1 }] }))
      const updated = await target.entities.raiseFloor()
      const epoch = await change(target, (serves) => ({
        ...serves,
        coming: [{ ...motion, buckets: MOVING, from: 0, afterAddedId: 0 }],
      }))
      coming = { epoch, updated }
    },
    async seal(group) {
      seal = await change(source, (serves) => ({
        ...serves,
        leaving: serves.leaving!.map((record) => ({ ...record, sealed: group })),
      }))
    },
    async giveUp(group) {
      const end = await copy(group)
      const catalog = (await source.catalog.load())!
      if (catalog.epoch !== seal) return false
      const serves = catalog.serves!
      const buckets = withoutRanges(serves.leaving![0]!.buckets, group)
      const next: ShardServes = {
        owns: withoutRanges(serves.owns, group),
        away: [...(serves.away ?? []), { ...motion, buckets: group, to: 1, end }],
        ...(buckets !== '' && { leaving: [{ ...motion, buckets, to: 1 }] }),
      }
      return (await changeServes(source, catalog, next)) !== undefined
    },
    async beginAtTarget(group) {
      const { end } = (await source.catalog.load())!.serves!.away!.find(({ buckets }) => buckets === group)!
      const begin = await target.entities.raiseFloor()
      const epoch = await change(target, (serves) => {
        const came = serves.coming?.find(({ buckets }) => withoutRanges(group, buckets) === '')
        // A writer has let it begin.
        if (came === undefined) return serves
        const rest = withoutRanges(came.buckets, group)
        return {
          owns: unionOfRanges(serves.owns, group),
          arrived: [
            ...(serves.arrived ?? []),
            { ...motion, buckets: group, from: 0, end, begin, afterAddedId: 0 },
          ],
          ...(rest !== '' && { coming: [{ ...came, buckets: rest }] }),
        }
      })
      coming = { epoch, updated: begin }
    },
  }
}
