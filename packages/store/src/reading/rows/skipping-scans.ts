import type { QueryPorts } from '@looseleaf/index-engine/internal'
import type { MissingShards } from '../entities/missing-shards.ts'
import type { ReadView } from '../freshness/replica-reads.ts'

/** Returns ports whose scans find no rows on a shard that does not answer, and note it. Without `missing` the ports stay as they are. */
export function skippingScans(
  ports: QueryPorts,
  view: Pick<ReadView, 'lanes'>,
  missing: MissingShards | undefined,
): QueryPorts {
  if (missing === undefined) return ports
  return {
    async scan(shard, scan, signal, index) {
      const { answers, shard: name } = view.lanes(shard)
      try {
        return await answers.bounded(() => ports.scan(shard, scan, signal, index))
      } catch (error) {
        missing.leaveOut(error, name)
        return []
      }
    },
    read: ports.read,
  }
}
