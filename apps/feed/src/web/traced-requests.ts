import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { DataStore, Trace } from 'looseleaf'

/** Has each request, from its first hook to the end of its answer, make a trace of what the store does for it. */
export function traceRequests(
  app: FastifyInstance,
  store: DataStore,
): (request: FastifyRequest) => Trace | undefined {
  const traces = new WeakMap<FastifyRequest, Trace>()
  app.addHook('onRequest', (request, reply, done) => {
    const answered = (trace: Trace): Promise<void> =>
      new Promise((resolve) => {
        traces.set(request, trace)
        // Unlike `onResponse`, it comes for a client that goes away without its answer too.
        reply.raw.once('close', resolve)
        // What follows runs in the context of the trace.
        done()
      })
    void store.trace(answered)
  })
  // An address that cannot be decoded never comes as far as the hooks.
  return (request) => traces.get(request)
}
