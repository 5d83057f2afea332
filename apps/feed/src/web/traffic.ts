import type { FastifyInstance, FastifyRequest } from 'fastify'

export interface Traffic {
  /** Other requests that were under way at any moment since this one came. */
  alongside(request: FastifyRequest): number
}

export function watchTraffic(app: FastifyInstance): Traffic {
  let came = 0
  let underWay = 0
  /** The others that were there when a request came, less the number that it came as. */
  const marks = new WeakMap<FastifyRequest, number>()

  app.addHook('onRequest', async (request, reply) => {
    came++
    marks.set(request, underWay - came)
    underWay++
    // Unlike `onResponse`, it comes for a client that goes away without its answer too.
    reply.raw.once('close', () => underWay--)
  })
  return {
    alongside(request) {
      const mark = marks.get(request)
      return mark === undefined ? 0 : mark + came
    },
  }
}
