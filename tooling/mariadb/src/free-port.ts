import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/**
 * Below the ports that systems give to outgoing connections (from 32768 on Linux, from 49152 elsewhere). A server that is
 * started again on its port would find it taken, every now and then, by one of those, even by a client that has reached
 * nobody but itself.
 */
const FIRST = 15_000
const LAST = 32_000
const ATTEMPTS = 50

/** A port of 127.0.0.1 that was free a moment ago; another process may still take it first. */
export async function freePort(): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    const port = randomInt(FIRST, LAST)
    try {
      await bind(port)
      return port
    } catch (error) {
      if (attempt === ATTEMPTS) throw error
    }
  }
}

function bind(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve()))
  })
}
