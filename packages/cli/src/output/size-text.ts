import { bytesText } from '@looseleaf/core/internal'
import type { ShardProbe } from '@looseleaf/store/internal'

/** Returns the growth of a shard, such as `+3.4 MB a day`; `?` until two notes of its size are an hour apart. */
export function growthText({ bytesPerDay }: Pick<ShardProbe, 'bytesPerDay'>): string {
  if (bytesPerDay === undefined) return '?'
  return `${bytesPerDay < 0 ? '-' : '+'}${bytesText(Math.round(Math.abs(bytesPerDay)))} a day`
}

/** Returns size and growth of a shard for a table; `?` if it was not probed. */
export function sizeCells(probes: readonly ShardProbe[], shard: string): readonly [string, string] {
  const probe = probes.find(({ name }) => name === shard)
  if (probe?.bytes === undefined) return ['?', '?']
  return [bytesText(probe.bytes), growthText(probe)]
}

export function sizeJson(probes: readonly ShardProbe[], shard: string): object {
  const { bytes = null, bytesPerDay = null } = probes.find(({ name }) => name === shard) ?? {}
  return { bytes, bytesPerDay }
}

export const SIZES_NOTE = "Sizes and growth come from the databases' statistics."
