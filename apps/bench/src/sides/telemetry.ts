import { openTelemetry } from '@looseleaf/opentelemetry'
import { context } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  AggregationTemporality,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type { DataStoreOptions } from 'looseleaf'
import type { Side } from './side.ts'

/** Where spans and numbers go is not the store's: here they end. */
const nowhere = {
  export: (_: unknown, done: (result: { code: number }) => void): void => done({ code: 0 }),
  forceFlush: async (): Promise<void> => {},
  shutdown: async (): Promise<void> => {},
}

export interface Telemetry extends Required<Pick<DataStoreOptions, 'observer'>> {
  /** Makes calls within the span of a request, as a site does. */
  inRequest: NonNullable<Side['around']>
}

/** An SDK as its guide sets it up: metrics, and spans in batches. */
export function telemetry(shareOfTraces: number): Telemetry {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  const tracerProvider = new TracerProvider({
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(shareOfTraces) }),
    spanProcessors: [new BatchSpanProcessor({ exporter: nowhere })],
  })
  const exporter = { ...nowhere, selectAggregationTemporality: () => AggregationTemporality.CUMULATIVE }
  const meterProvider = new MeterProvider({ readers: [new PeriodicExportingMetricReader({ exporter })] })
  const tracer = tracerProvider.getTracer('bench')
  return {
    observer: openTelemetry({ system: 'mariadb', tracerProvider, meterProvider }),
    inRequest: (calls) =>
      tracer.startActiveSpan('request', async (span) => {
        try {
          await calls()
        } finally {
          span.end()
        }
      }),
  }
}
