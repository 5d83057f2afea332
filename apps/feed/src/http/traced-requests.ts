import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { DataStore, Trace } from 'looseleaf'

/** Runs each request in a trace of the store, from its first hook to the end of its response. Returns a lookup of the traces. */
export function traceRequests(
  app: FastifyInstance,
  store: DataStore,
): (request: FastifyRequest) => Trace | undefined {
  const traces = new WeakMap<FastifyRequest, Trace>()
  app.addHook('onRequest', (request, reply, done) => {
    const answered = (trace: Trace): Promise<void> =>
      new Promise((resolve) => {
        traces.set(request, trace)
        // Unlike the hook `onResponse`, `close` also fires for a client that disconnects before its response.
        reply.raw.once('close', resolve)
        // Later hooks and the route run in the trace's async context.
        done()
      })
    void store.trace(answered)
  })
  // There is no trace for an address that cannot be decoded, because hooks do not run for it.
  return (request) => traces.get(request)
}
