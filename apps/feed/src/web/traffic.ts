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

  app.addHook('onRequest', async (request) => {
    came++
    marks.set(request, underWay - came)
    underWay++
  })
  app.addHook('onResponse', async (request) => {
    // One that was refused before it was counted is answered all the same.
    if (marks.has(request)) underWay--
  })
  return {
    alongside(request) {
      const mark = marks.get(request)
      return mark === undefined ? 0 : mark + came
    },
  }
}
