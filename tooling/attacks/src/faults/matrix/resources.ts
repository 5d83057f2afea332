import type { MemoryRecord, ProcessHistory } from '../history/records.ts'

/** Resources of the processes that survived a run; the highest value of any process. Sizes in MiB. */
export interface Resources {
  readonly peakHeap: number
  /** Growth after the warm-up, measured after collections; undefined if the run is too short. */
  readonly heapGrowth: number | undefined
  readonly rssGrowth: number | undefined
  /** Sockets of the store, without those that the process had before. */
  readonly peakSockets: number
  /** Sockets after all calls had ended, with the store still open. */
  readonly idleSockets: number
  /** Sockets after the store was closed. */
  readonly leftSockets: number
  readonly grows: boolean
}

const MIB = 1024 * 1024
/** During the warm-up, prepared statements are cached, code is compiled and buffers reach their size. */
const WARM_UP_MICROS = 10_000_000
/** Smaller growth, or growth from fewer samples, is noise. */
const GROWTH_MIB = 16
const LEAST_SAMPLES = 12

export function resourcesOf(processes: readonly ProcessHistory[]): Resources {
  const each = processes.map(ofProcess)
  const most = (pick: (own: Resources) => number | undefined): number | undefined => {
    const known = each.flatMap((own) => pick(own) ?? [])
    return known.length === 0 ? undefined : Math.max(...known)
  }
  return {
    peakHeap: most((own) => own.peakHeap) ?? 0,
    heapGrowth: most((own) => own.heapGrowth),
    rssGrowth: most((own) => own.rssGrowth),
    peakSockets: most((own) => own.peakSockets) ?? 0,
    idleSockets: most((own) => own.idleSockets) ?? 0,
    leftSockets: most((own) => own.leftSockets) ?? 0,
    grows: each.some(({ grows }) => grows),
  }
}

function ofProcess({ records }: ProcessHistory): Resources {
  const samples = records.filter((record) => record.kind === 'memory')
  const before = samples.find(({ phase }) => phase === 'before')?.sockets ?? 0
  const socketsIn = (part: readonly MemoryRecord[]): number =>
    Math.max(0, ...part.map(({ sockets }) => (sockets ?? before) - before))
  const inPhase = (wanted: MemoryRecord['phase']): MemoryRecord[] =>
    samples.filter(({ phase }) => phase === wanted)
  const start = samples[0]?.at ?? 0
  const steady = samples.filter(({ collected, at }) => collected === true && at > start + WARM_UP_MICROS)
  const [first, last] = [steady[0], steady.at(-1)]
  const isLong = first !== undefined && last !== undefined && first !== last
  return {
    peakHeap: Math.max(0, ...samples.map(({ heap }) => heap)) / MIB,
    heapGrowth: isLong ? (last.heap - first.heap) / MIB : undefined,
    rssGrowth: isLong ? (last.rss - first.rss) / MIB : undefined,
    peakSockets: socketsIn(samples),
    idleSockets: socketsIn(inPhase('idle')),
    leftSockets: socketsIn(inPhase('after')),
    grows: growsFor(steady.map(({ heap }) => heap / MIB)),
  }
}

/** Tells whether all of the last quarter lies above all of the first. */
function growsFor(heaps: readonly number[]): boolean {
  if (heaps.length < LEAST_SAMPLES) return false
  const quarter = Math.floor(heaps.length / 4)
  return Math.min(...heaps.slice(-quarter)) > Math.max(...heaps.slice(0, quarter)) + GROWTH_MIB
}
