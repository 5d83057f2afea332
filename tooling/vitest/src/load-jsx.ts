import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'
import { transformSync } from 'rolldown/utils'

let isLoaded = false

/** Lets Node load JSX, as the `tsconfig.json` above a file says. Idempotent. */
export function loadJsx(): void {
  if (isLoaded) return
  isLoaded = true
  registerHooks({
    load(url, context, next) {
      if (!url.endsWith('.tsx')) return next(url, context)
      const file = fileURLToPath(url)
      const { code, errors } = transformSync(file, readFileSync(file, 'utf8'))
      if (errors[0] !== undefined) throw errors[0]
      return { format: 'module', source: code, shortCircuit: true }
    },
  })
}
