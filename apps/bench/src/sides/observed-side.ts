import { BUT_A_FEW, looseleafSide } from './looseleaf-side.ts'
import type { SideDefinition } from './side.ts'
import type { Telemetry } from './telemetry.ts'

/** Loaded where it is used alone: in a process that has the SDK and does not use it a covering page takes an eighth more CPU. */
function onceLoaded(shareOfTraces: number): () => Promise<Telemetry> {
  let loaded: Promise<Telemetry> | undefined
  return () => (loaded ??= import('./telemetry.ts').then(({ telemetry }) => telemetry(shareOfTraces)))
}

const someTraces = onceLoaded(0.01)
const allTraces = onceLoaded(1)

/** With spans of requests by the SDK around its calls, as an application has them. */
const withinRequests = (side: SideDefinition): SideDefinition => ({
  ...side,
  async open(databases, layout) {
    const { inRequest } = await someTraces()
    return { ...(await side.open(databases, layout)), around: inRequest }
  },
})

/** What an application with OpenTelemetry has before its store is observed. */
export const requests: SideDefinition = withinRequests(
  looseleafSide({
    name: 'requests',
    title: 'Looseleaf, spans of requests alone',
    isVariant: true,
    without: BUT_A_FEW,
    store: () => ({}),
  }),
)

export const sampled: SideDefinition = withinRequests(
  looseleafSide({
    name: 'sampled',
    title: 'Looseleaf + OpenTelemetry',
    isVariant: true,
    without: BUT_A_FEW,
    store: async () => ({ observer: (await someTraces()).observer }),
  }),
)

export const everySpan: SideDefinition = looseleafSide({
  name: 'every-span',
  title: 'Looseleaf + OpenTelemetry, every span',
  isVariant: true,
  without: BUT_A_FEW,
  store: async () => ({ observer: (await allTraces()).observer }),
})
