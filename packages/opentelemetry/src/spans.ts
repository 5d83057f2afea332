import {
  INVALID_TRACEID,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Attributes,
  type Span,
  type Tracer,
} from '@opentelemetry/api'
import type { BegunCall, EndedCall, SentStatement, StoreEvent } from '@looseleaf/core'
import { summarise } from '@looseleaf/core/internal'

/** Creates spans of calls, as children of the active span, and of the statements that are sent for them. */
export interface Spans {
  /** Begins the span of a call; undefined if the span is not recorded. */
  begin(call: BegunCall): Span | undefined
  end(call: EndedCall, span: Span | undefined): void
  /** Creates the span of a statement. `spans` has the recorded calls that share it, and `calls` is the number of all of them. */
  statement(statement: SentStatement, spans: readonly Span[], calls: number): void
  event(event: StoreEvent, calls: readonly Span[]): void
}

/** Largest number of links of a statement, which is the default limit of SDKs. */
const MAX_LINKS = 128

export function createSpans(tracer: Tracer, system: string): Spans {
  return {
    begin({ name, index }) {
      if (isUnsampled(trace.getActiveSpan())) return undefined
      const attributes: Attributes = { 'looseleaf.call': name }
      if (index !== undefined) attributes['looseleaf.index'] = index
      const span = tracer.startSpan(index === undefined ? name : `${name} ${index}`, { attributes })
      return span.isRecording() ? span : undefined
    },

    end({ failure }, span) {
      if (span === undefined) return
      if (failure !== undefined) fail(span, failure)
      span.end()
    },

    /** A span has one parent: the first call. The statement and the other calls have links to each other. */
    statement({ text, shard, rows, sentAt, durationMs, failure }, spans, calls) {
      const [parent, ...others] = spans.slice(0, MAX_LINKS + 1)
      if (parent === undefined) return
      const { operation, table } = summarise(text)
      const summary = table === undefined ? operation : `${operation} ${table}`
      const attributes: Attributes = {
        'db.system.name': system,
        'db.operation.name': operation,
        'db.query.summary': summary,
        'db.response.returned_rows': rows,
        'looseleaf.shard': shard,
        'looseleaf.calls': calls,
      }
      if (table !== undefined) attributes['db.collection.name'] = table
      const links = others.map((call) => ({ context: call.spanContext() }))
      const options = { kind: SpanKind.CLIENT, startTime: sentAt, attributes, links }
      const span = tracer.startSpan(summary, options, trace.setSpan(ROOT_CONTEXT, parent))
      if (failure !== undefined) {
        span.setAttribute('db.response.status_code', failure)
        fail(span, failure)
      }
      span.end(sentAt + durationMs)
      for (const call of others) call.addLink({ context: span.spanContext() })
    },

    event({ kind, ...details }, calls) {
      const attributes = Object.fromEntries(
        Object.entries(details).map(([name, value]) => [`looseleaf.${name}`, value]),
      )
      for (const call of calls) call.addEvent(`looseleaf.${kind}`, attributes)
    },
  }
}

/** Tells whether a sampler has rejected the trace of the active span. Its decision holds for the whole trace, so it need not be asked again. */
function isUnsampled(activeSpan: Span | undefined): boolean {
  if (activeSpan === undefined) return false
  const { traceId, traceFlags } = activeSpan.spanContext()
  return (traceFlags & TraceFlags.SAMPLED) === 0 && traceId !== INVALID_TRACEID
}

function fail(span: Span, failure: string): void {
  span.setAttribute('error.type', failure)
  span.setStatus({ code: SpanStatusCode.ERROR, message: failure })
}
