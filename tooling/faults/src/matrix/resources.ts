import type { MemoryRecord, ProcessHistory } from '../history/records.ts'

/** What the processes that lived through a run held of the machine, the worst of each. Sizes in MiB. */
export interface Resources {
  readonly peakHeap: number
  /** From when a process had warmed up to its end, after collections; undefined when a run is too short to tell. */
  readonly heapGrowth: number | undefined
  readonly rssGrowth: number | undefined
  /** Of the store: those that a process had anyway are taken off. */
  readonly peakSockets: number
  /** When all calls had ended and the store was still open. */
  readonly idleSockets: number
  /** After the store was closed. */
  readonly leftSockets: number
  readonly grows: boolean
}

const MIB = 1024 * 1024
/** Statements of every length are made once and kept, code is compiled, buffers find their size. */
const WARM_UP_MICROS = 10_000_000
/** A growth that is smaller, or rests on fewer samples, may be anything. */
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

/** Clearly, and for good: all of the last quarter lies above all of the first one. */
function growsFor(heaps: readonly number[]): boolean {
  if (heaps.length < LEAST_SAMPLES) return false
  const quarter = Math.floor(heaps.length / 4)
  return Math.min(...heaps.slice(-quarter)) > Math.max(...heaps.slice(0, quarter)) + GROWTH_MIB
}
