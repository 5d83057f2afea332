import type { QueryPorts } from '@looseleaf/index-engine/internal'
import { askOrLeaveOut, type MissingShards } from '../entities/missing-shards.ts'
import type { ReadView } from '../freshness/replica-reads.ts'

/** Returns ports whose scans find no rows on a shard that does not answer, and note it. Without `missing` the ports stay as they are. */
export function skippingScans(
  ports: QueryPorts,
  view: Pick<ReadView, 'lanes'>,
  missing: MissingShards | undefined,
): QueryPorts {
  if (missing === undefined) return ports
  return {
    scan: (shard, scan, signal, index) =>
      askOrLeaveOut(view.lanes(shard), [missing], () => ports.scan(shard, scan, signal, index), []),
    read: ports.read,
  }
}
