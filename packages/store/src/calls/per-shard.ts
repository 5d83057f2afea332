import type { Driver, Shard } from '@looseleaf/core'

/** One value for each shard of a store. Created at the first use, because shards may join while the process runs. */
export interface PerShard<Value> {
  /** Returns the value of a shard, by its number. */
  at(number: number): Value
  /** Returns the values of all shards that the store has now, in their order. */
  all(): readonly Value[]
}

export function perShard<Value>(
  { shards }: Pick<Driver, 'shards'>,
  create: (shard: Shard, number: number) => Value,
): PerShard<Value> {
  const values: Value[] = []

  function all(): readonly Value[] {
    while (values.length < shards.length) values.push(create(shards[values.length] as Shard, values.length))
    return values
  }

  return {
    // Numbers come from a placement, whose shards the driver has.
    at: (number) => (number < values.length ? values : all())[number] as Value,
    all,
  }
}
