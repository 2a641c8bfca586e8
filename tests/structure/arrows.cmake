# Which folder may include which: the arrows of the design, read from the #include lines.
#
#   cmake -DROOT=<repository> -P arrows.cmake                       checks the tree
#   cmake -DROOT=<repository> -DWORK=<folder> -P arrows.cmake       checks that each forbidden arrow would be found
cmake_minimum_required(VERSION 3.23)

# The concept that policies of a slot's folder model; a policy includes no other concept.
set(concept_of_communicator communicator)
set(concept_of_gradient_clipping gradient_clipping)
set(concept_of_loss_scaling loss_scaling)
set(concept_of_overflow_detection overflow_detection)
set(concept_of_parameter_group parameter_group)
set(concept_of_sharding sharding_layout)
set(concept_of_state state_rule)
set(concept_of_storage storage_rule)
set(concept_of_telemetry telemetry)
set(concept_of_update_rule update_rule)

# What stands at the other end of an include line, as `kind` or `kind/file`.
function(classify root target result)
  if(target MATCHES "^halfstep/")
    if(EXISTS ${root}/policies/${target})
      string(REGEX REPLACE "^halfstep/" "policy/" kind ${target})
    elseif(EXISTS ${root}/kernels/${target})
      string(REGEX REPLACE "^halfstep/" "kernel/" kind ${target})
    elseif(EXISTS ${root}/include/${target})
      string(REGEX REPLACE "^halfstep/" "" kind ${target})
    else()
      set(kind "nothing (there is no such header)")
    endif()
  elseif(target MATCHES "^boost/hana/")
    set(kind hana)
  elseif(target MATCHES "^(cuda|cub/|thrust/|nv|nccl)")
    set(kind cuda)
  elseif(target MATCHES "^[a-z_0-9]+$")
    set(kind std)
  elseif(target MATCHES "^(omp|[a-z]*mmintrin|sys/mman)\\.h$")
    set(kind system)
  else()
    set(kind "another library")
  endif()
  set(${result} "${kind}" PARENT_SCOPE)
endfunction()

# The kinds that a header may include, as one regular expression.
function(allowed_in header result)
  if(header MATCHES "^include/halfstep/core/")
    set(allowed "core/.*|std")
  elseif(header MATCHES "^include/halfstep/concepts/")
    set(allowed "core/.*|concepts/.*|std")
  elseif(header STREQUAL "include/halfstep/compose/defaults.hpp")
    # The one place of the composition that names stock policies and the host.
    set(allowed "core/.*|concepts/.*|compose/.*|policy/.*|kernel/host/host_backend.hpp|std")
  elseif(header MATCHES "^include/halfstep/compose/")
    set(allowed "core/.*|concepts/.*|compose/.*|hana|std")
  elseif(header MATCHES "^policies/halfstep/([a-z_]+)/[^/]+$")
    set(concept "${concept_of_${CMAKE_MATCH_1}}")
    set(allowed "core/.*|concepts/${concept}.hpp|std")
  elseif(header STREQUAL "kernels/halfstep/cuda.cuh" OR header MATCHES "^include/halfstep/[^/]+$")
    set(allowed ".*")  # umbrellas
  elseif(header MATCHES "^kernels/halfstep/cuda/")
    # The last block of an inspection decides the step on the device, by the function that the host calls.
    set(allowed "core/.*|concepts/.*|compose/decide.hpp|kernel/.*|cuda|std|system")
  elseif(header MATCHES "^kernels/halfstep/")
    set(allowed "core/.*|concepts/.*|kernel/element_update.hpp|kernel/host/.*|std|system")
  else()
    set(allowed "nothing: this folder has no rule yet")
  endif()
  set(${result} "^(${allowed})$" PARENT_SCOPE)
endfunction()

# Forbidden includes of a tree, one line each.
function(check_tree root result)
  set(found "")
  file(GLOB_RECURSE headers RELATIVE ${root} ${root}/include/* ${root}/policies/* ${root}/kernels/*)
  foreach(header ${headers})
    allowed_in(${header} allowed)
    file(STRINGS ${root}/${header} lines REGEX "^[ \t]*#[ \t]*include")
    foreach(line ${lines})
      if(line MATCHES "<([^>]+)>")
        set(target ${CMAKE_MATCH_1})
        classify(${root} ${target} kind)
      else()
        set(target "${line}")
        set(kind "a path that is not <halfstep/…>")
      endif()
      if(NOT kind MATCHES "${allowed}")
        list(APPEND found "${header} includes ${target}: ${kind}")
      endif()
    endforeach()
  endforeach()
  list(LENGTH headers count)
  if(count LESS 50)
    list(APPEND found "only ${count} headers were found under ${root}")
  endif()
  set(${result} "${found}" PARENT_SCOPE)
endfunction()

if(NOT WORK)
  check_tree(${ROOT} found)
  if(found)
    list(JOIN found "\n  " text)
    message(FATAL_ERROR "includes against the arrows between folders (tests/structure/arrows.cmake):\n  ${text}")
  endif()
  return()
endif()

# Each line is a header and an include that it must not have.
set(forbidden
    "include/halfstep/core/dtype.hpp <halfstep/concepts/telemetry.hpp>"
    "include/halfstep/core/dtype.hpp <halfstep/storage/kahan.hpp>"
    "include/halfstep/core/dtype.hpp <halfstep/host/lanes.hpp>"
    "include/halfstep/core/dtype.hpp <halfstep/halfstep.hpp>"
    "include/halfstep/core/dtype.hpp <boost/hana/tuple.hpp>"
    "include/halfstep/core/dtype.hpp <cuda_fp16.h>"
    "include/halfstep/core/dtype.hpp <fmt/core.h>"
    "include/halfstep/concepts/telemetry.hpp <halfstep/compose/on.hpp>"
    "include/halfstep/concepts/telemetry.hpp <halfstep/telemetry/no_telemetry.hpp>"
    "include/halfstep/concepts/telemetry.hpp <halfstep/element_update.hpp>"
    "include/halfstep/concepts/telemetry.hpp <boost/hana/tuple.hpp>"
    "include/halfstep/compose/decide.hpp <halfstep/loss_scaling/no_scaling.hpp>"
    "include/halfstep/compose/decide.hpp <halfstep/host/host_backend.hpp>"
    "include/halfstep/compose/decide.hpp <cub/cub.cuh>"
    "include/halfstep/compose/decide.hpp <omp.h>"
    "include/halfstep/compose/defaults.hpp <halfstep/host/update.hpp>"
    "include/halfstep/compose/defaults.hpp <halfstep/halfstep.hpp>"
    "policies/halfstep/storage/kahan.hpp <halfstep/storage/in_place.hpp>"
    "policies/halfstep/storage/kahan.hpp <halfstep/update_rule/sgd.hpp>"
    "policies/halfstep/storage/kahan.hpp <halfstep/concepts/update_rule.hpp>"
    "policies/halfstep/storage/kahan.hpp <halfstep/compose/on.hpp>"
    "policies/halfstep/storage/kahan.hpp <halfstep/host/lanes.hpp>"
    "policies/halfstep/storage/kahan.hpp <boost/hana/tuple.hpp>"
    "policies/halfstep/storage/kahan.hpp <cuda_bf16.h>"
    "policies/halfstep/no_slot_yet/thing.hpp <halfstep/concepts/telemetry.hpp>"
    "kernels/halfstep/host/update.hpp <halfstep/update_rule/adamw.hpp>"
    "kernels/halfstep/host/update.hpp <halfstep/compose/composition.hpp>"
    "kernels/halfstep/host/update.hpp <boost/hana/tuple.hpp>"
    "kernels/halfstep/host/update.hpp <cuda_runtime.h>"
    "kernels/halfstep/host/update.hpp <thrust/device_vector.h>"
    "kernels/halfstep/host/update.hpp <halfstep/cuda/launch_tuning.hpp>"
    "kernels/halfstep/element_update.hpp <halfstep/storage/in_place.hpp>"
    "kernels/halfstep/cuda/update.cuh <halfstep/storage/in_place.hpp>"
    "kernels/halfstep/cuda/update.cuh <halfstep/compose/recipe.hpp>"
    "kernels/halfstep/cuda/update.cuh <boost/hana/tuple.hpp>"
    "kernels/halfstep/host/update.hpp <halfstep/host/misspelt.hpp>"
    "kernels/halfstep/host/update.hpp \"lanes.hpp\""
    "include/halfstep/compose/on.hpp \"../core/pack.hpp\"")
file(REMOVE_RECURSE ${WORK})
foreach(tree include policies kernels)
  file(COPY ${ROOT}/${tree} DESTINATION ${WORK})
endforeach()
# What may be absent while a part of the library is not written yet.
foreach(header kernels/halfstep/cuda/update.cuh kernels/halfstep/cuda/launch_tuning.hpp policies/halfstep/no_slot_yet/thing.hpp)
  if(NOT EXISTS ${WORK}/${header})
    file(WRITE ${WORK}/${header} "\n")
  endif()
endforeach()
set(missed "")
foreach(entry ${forbidden})
  string(REGEX MATCH "^[^ ]+" header "${entry}")
  string(REGEX REPLACE "^[^ ]+ " "" target "${entry}")
  file(READ ${WORK}/${header} text)
  file(APPEND ${WORK}/${header} "\n#include ${target}\n")
  check_tree(${WORK} found)
  list(LENGTH found count)
  if(NOT count EQUAL 1 OR NOT found MATCHES "^${header} includes ")
    list(APPEND missed "${entry} -> ${count}: ${found}")
  endif()
  file(WRITE ${WORK}/${header} "${text}")
endforeach()
file(REMOVE_RECURSE ${WORK})
if(missed)
  list(JOIN missed "\n  " text)
  message(FATAL_ERROR "these forbidden includes should be found, once each:\n  ${text}")
endif()
