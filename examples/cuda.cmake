# The examples that nvcc compiles. With the tests they are tests too: on a GPU, else under the interpreter of HALFSTEP_PTXRUN, else skipped.
set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)

# halfstep_cuda_example(name sources…)
function(halfstep_cuda_example name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE halfstep::cuda)
  set_target_properties(${name} PROPERTIES CUDA_ARCHITECTURES "${CMAKE_CUDA_ARCHITECTURES}")
endfunction()

# halfstep_cuda_example_test(name program arguments…)
function(halfstep_cuda_example_test name program)
  if(HALFSTEP_TESTS)
    add_test(NAME ${name} COMMAND ${PROJECT_SOURCE_DIR}/tests/cuda/on_device.sh "${HALFSTEP_PTXRUN}" $<TARGET_FILE:${program}> ${ARGN})
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 LABELS cuda TIMEOUT 1800)
  endif()
endfunction()

halfstep_cuda_example(custom_policy_cuda custom_policy.cu)
halfstep_cuda_example_test(cuda_custom_policy custom_policy_cuda)
