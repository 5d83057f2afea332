import type { FastifyInstance } from 'fastify'
import { Problem } from './problem.ts'
import { shared } from './shared.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Answers the other methods of all addresses with 405. Has to be called after all routes. */
    refuseOtherMethods(): void
    /** Returns true if the address with this pattern is a page. */
    isPage(url: string): boolean
  }
}

/** Collects the methods of each address. Has to be registered before all routes. */
export const methods = shared(async (app) => {
  const methodsOf = new Map<string, Set<string>>()
  let isComplete = false
  app.addHook('onRoute', ({ url, method }) => {
    if (isComplete) return
    const known = methodsOf.get(url) ?? new Set()
    methodsOf.set(url, known)
    for (const each of [method].flat()) known.add(each)
  })
  app.decorate('isPage', (url: string) => methodsOf.get(url)?.has('GET') ?? false)
  app.decorate('refuseOtherMethods', function (this: FastifyInstance) {
    isComplete = true
    for (const [url, known] of methodsOf) {
      const allow = [...known].toSorted().join(', ')
      this.route({
        url,
        method: this.supportedMethods.filter((method) => !known.has(method)),
        // A hook, so that no body is read.
        onRequest: async () => {
          throw methodNotAllowed(allow)
        },
        handler: async () => undefined,
      })
    }
  })
})

function methodNotAllowed(allow: string): Problem {
  return new Problem(
    405,
    'This address does not work that way',
    `It accepts only ${allow}. Nothing has been changed.`,
    { allow },
  )
}
