import { ALL_BUT_FIVE, looseleafSide } from './looseleaf-side.ts'
import type { SideDefinition } from './side.ts'
import type { Telemetry } from './telemetry.ts'

/** Imports the SDK at its first use. In a process that imports it without using it, a covering page takes an eighth more CPU. */
function onceLoaded(shareOfTraces: number): () => Promise<Telemetry> {
  let loaded: Promise<Telemetry> | undefined
  return () => (loaded ??= import('./telemetry.ts').then(({ telemetry }) => telemetry(shareOfTraces)))
}

const someTraces = onceLoaded(0.01)
const allTraces = onceLoaded(1)

/** Wraps the calls of a side in request spans of the SDK, as an application does. */
const withinRequests = (side: SideDefinition): SideDefinition => ({
  ...side,
  async open(databases, layout) {
    const { inRequest } = await someTraces()
    return { ...(await side.open(databases, layout)), around: inRequest }
  },
})

/** Baseline: an application that uses OpenTelemetry for its requests, with an unobserved store. */
export const requests: SideDefinition = withinRequests(
  looseleafSide({
    name: 'requests',
    title: 'Looseleaf, spans of requests alone',
    isVariant: true,
    without: ALL_BUT_FIVE,
    store: () => ({}),
  }),
)

export const sampled: SideDefinition = withinRequests(
  looseleafSide({
    name: 'sampled',
    title: 'Looseleaf + OpenTelemetry',
    isVariant: true,
    without: ALL_BUT_FIVE,
    store: async () => ({ observer: (await someTraces()).observer }),
  }),
)

export const everySpan: SideDefinition = looseleafSide({
  name: 'every-span',
  title: 'Looseleaf + OpenTelemetry, every span',
  isVariant: true,
  without: ALL_BUT_FIVE,
  store: async () => ({ observer: (await allTraces()).observer }),
})
