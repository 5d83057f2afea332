import { registerHooks } from 'node:module'
import { vi } from 'vitest'

let copies = 0

/**
 * Imports a copy of a module, which has copies of all its imports too. For modules that take a function of the
 * platform when they are loaded, so that a test can replace it first. Other tests of the worker keep theirs.
 */
export async function importCopy<Module>(url: URL): Promise<Module> {
  const mark = `copy=${++copies}`
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      const resolved = next(specifier, context)
      const isOfCopy =
        context.parentURL?.endsWith(mark) === true &&
        resolved.url.startsWith('file:') &&
        !resolved.url.includes('/node_modules/')
      return isOfCopy ? { ...resolved, url: `${resolved.url}?${mark}` } : resolved
    },
  })
  // Works for the module runner of Vite, as the hooks do for Node.
  vi.resetModules()
  try {
    // The caller names the module by its URL, so its type is not known here.
    return (await import(`${url.href}?${mark}`)) as Module
  } finally {
    hooks.deregister()
    vi.resetModules()
  }
}
