import { LooseleafError, type CallOptions, type Shard } from '@looseleaf/core'
import { throwIfAborted, type SnapshotOptions } from '@looseleaf/core/internal'
import type { ShardState } from './reference-driver.ts'
import { createReferenceReplica } from './reference-replica.ts'

/**
 * Returns a shard with snapshots. `now` returns microseconds by the shard's clock; a snapshot has no timer, so that its time is up by this
 * clock.
 */
export function withSnapshots<S extends Shard & { state(): ShardState }>(
  shard: S,
  now: () => number,
): S & Required<Pick<Shard, 'snapshot'>> {
  const { name } = shard
  return {
    ...shard,
    async snapshot({ maxMs, signal }: SnapshotOptions) {
      throwIfAborted(signal)
      const copy = createReferenceReplica(name, now)
      copy.show(shard.state())
      const until = now() + maxMs * 1000
      let isClosed = false
      function check(options?: CallOptions): void {
        throwIfAborted(options?.signal)
        if (isClosed) throw new LooseleafError('CLOSED', `${name}: the snapshot is closed.`, { shard: name })
        if (now() > until)
          throw new LooseleafError('DEADLINE', `${name}: the snapshot was open for too long.`, {
            shard: name,
          })
      }
      const { read, readBounded, readVersions } = copy.entities
      return {
        index(spec) {
          const table = copy.index(spec)
          const checked =
            <Input, Result>(run: (input: Input, options?: CallOptions) => Promise<Result>) =>
            async (input: Input, options?: CallOptions): Promise<Result> => {
              check(options)
              return run(input, options)
            }
          return {
            scan: checked(table.scan),
            scanMany: checked(table.scanMany),
            scanEntities: checked(table.scanEntities),
            scanVersions: checked(table.scanVersions),
            count: checked(table.count),
            countMany: checked(table.countMany),
          }
        },
        entities: {
          async read(ids, options) {
            check(options)
            return read(ids, options)
          },
          async readBounded(ids, maxBody, options) {
            check(options)
            return readBounded(ids, maxBody, options)
          },
          async readVersions(ids, options) {
            check(options)
            return readVersions(ids, options)
          },
        },
        async close() {
          isClosed = true
        },
      }
    },
  }
}
