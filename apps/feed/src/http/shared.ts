import type { FastifyPluginAsync } from 'fastify'

/** Makes the hooks and decorators of a plugin apply to the instance that registers it, and not only within the plugin. */
export function shared<Options extends object = object>(
  plugin: FastifyPluginAsync<Options>,
): FastifyPluginAsync<Options> {
  return Object.assign(plugin, { [Symbol.for('skip-override')]: true })
}
