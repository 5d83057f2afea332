import type { DataStoreOptions } from 'looseleaf'
import { BUT_A_FEW, looseleafSide } from './looseleaf-side.ts'
import type { SideDefinition } from './side.ts'

/** Loaded where it is used alone: in a process that has the SDK and does not use it a covering page takes an eighth more CPU. */
async function observedBy(shareOfTraces: number): Promise<Pick<DataStoreOptions, 'observer'>> {
  const { telemetry } = await import('./telemetry.ts')
  return telemetry(shareOfTraces)
}

export const sampled: SideDefinition = looseleafSide({
  name: 'sampled',
  title: 'Looseleaf + OpenTelemetry',
  isVariant: true,
  without: BUT_A_FEW,
  store: () => observedBy(0.01),
})

export const everySpan: SideDefinition = looseleafSide({
  name: 'every-span',
  title: 'Looseleaf + OpenTelemetry, every span',
  isVariant: true,
  without: BUT_A_FEW,
  store: () => observedBy(1),
})
