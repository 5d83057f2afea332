import type { LooseleafError, CallOptions } from '@looseleaf/core'
import { badOption, type LayoutShard, type StoreLayout } from '@looseleaf/core/internal'
import { changeCatalogContents, type EngineContext } from '@looseleaf/index-engine/internal'
import { movableLayout } from './announce.ts'
import { movableBuckets } from './move-work.ts'

/**
 * Announces that a shard is being drained: no move to it is announced from then on. Changes nothing if it is announced. Throws `BAD_OPTION`
 * for a shard that is unknown, joining or removed, and for the last one that takes buckets.
 */
export function announceDraining(
  context: EngineContext,
  number: number,
  options: CallOptions,
): Promise<void> {
  return changeShard(context, number, options, (shard, layout) => {
    requireDrainable(layout, number)
    return shard.state === 'draining' ? shard : { ...shard, state: 'draining' }
  })
}

/** Lets a shard take buckets again. Changes nothing if it does. Throws `BAD_OPTION` for a shard that is unknown, joining or removed. */
export function withdrawDraining(
  context: EngineContext,
  number: number,
  options: CallOptions,
): Promise<void> {
  return changeShard(context, number, options, (shard) => {
    const { state, ...serving } = shard
    if (state !== undefined && state !== 'draining') throw notDraining(number, state)
    return state === undefined ? shard : serving
  })
}

/** Throws `BAD_OPTION` for a shard that cannot be drained. */
export function requireDrainable({ shards }: StoreLayout, number: number): void {
  const state = shards[number]?.state
  if (state === 'joining' || state === 'removed') throw notDraining(number, state)
  if (shards.every((shard, other) => other === number || shard.state !== undefined))
    throw badOption(`Shard ${number} cannot be drained: no other shard takes buckets. Add a shard first.`)
}

function notDraining(number: number, state: string): LooseleafError {
  return badOption(`Shard ${number} has no buckets: its state is ${state}.`)
}

async function changeShard(
  context: EngineContext,
  number: number,
  options: CallOptions,
  change: (shard: LayoutShard, layout: StoreLayout) => LayoutShard,
): Promise<void> {
  movableBuckets(context)
  const catalog = await changeCatalogContents(
    context.driver,
    (contents) => {
      const layout = movableLayout(contents.layout)
      const shard = layout.shards[number]
      if (shard === undefined)
        throw badOption(`The store has no shard ${number}; there are ${layout.shards.length}, from 0.`)
      const changed = change(shard, layout)
      if (changed === shard) return undefined
      const shards = layout.shards.with(number, changed)
      return { ...contents, layout: { ...layout, revision: layout.revision + 1, shards } }
    },
    options,
  )
  context.catalog.adopt(catalog)
}
